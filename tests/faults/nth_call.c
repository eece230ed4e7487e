// LD_PRELOAD: at the nth call that changes something below a folder the process is killed, or the
// call fails. Calls are counted over all processes and threads, in one order.
//   NTH_PROGRAM, NTH_BELOW  only in processes of this name, for paths that hold this
//   NTH                     which call, from 1; 0: none
//   NTH_ERROR               errno of the failure; 0: SIGKILL; -1: a write writes half of its bytes
//   NTH_ALL                 all calls from the nth on, instead of the nth alone
//   NTH_LOG                 a line for each call: its number, its name and path
//   NTH_COUNT               a file of four bytes, which they count in
#include "calls.h"
#include <stdatomic.h>

static int is_below(const char* path) {
  const char *program = getenv("NTH_PROGRAM"), *below = getenv("NTH_BELOW");
  return program && below && path && strstr(path, below) &&
         !strcmp(program_invocation_short_name, program);
}

static void note(int number, const char* name, const char* path) {
  if (!getenv("NTH_LOG")) return;
  char line[1200];
  int size = snprintf(line, sizeof line, "%d %s %s\n", number, name, path);
  long log = syscall(SYS_openat, at_cwd, getenv("NTH_LOG"), write_only | create | append, 0666);
  syscall(SYS_write, log, line, size < (int)sizeof line ? size : (int)sizeof line);
  syscall(SYS_close, log);
}

static int count(void) {
  static _Atomic(atomic_int*) calls;
  if (!calls) {
    long file = syscall(SYS_openat, at_cwd, getenv("NTH_COUNT"), 2 /*O_RDWR*/, 0);
    calls =
        (atomic_int*)syscall(SYS_mmap, 0, sizeof(int), 3 /*read, write*/, 1 /*shared*/, file, 0);
    syscall(SYS_close, file);
  }
  return ++*calls;
}

static int before(struct call* c) {
  int kept = errno;
  if (!is_below(c->path)) return errno = kept, 0;
  int number = count(), nth = atoi(getenv("NTH"));
  note(number, c->name, c->path);
  int hit = nth && (number == nth || (getenv("NTH_ALL") && number > nth));
  errno = kept;
  if (!hit) return 0;
  int error = atoi(getenv("NTH_ERROR"));
  if (!error) syscall(SYS_kill, syscall(SYS_getpid), 9);
  if (error > 0) return errno = error, 1;
  if (c->data) c->size = (c->size + 1) / 2;
  return 0;
}

static void after(const struct call* c, long answer) { (void)c, (void)answer; }
