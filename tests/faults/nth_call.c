// LD_PRELOAD: at the nth call that changes something below a folder the process is killed, or the
// call fails. Calls are counted over all threads of a process, in one order.
//   NTH_PROGRAM, NTH_BELOW  only in processes of this name, for paths that hold this
//   NTH                     which call, from 1; 0: none
//   NTH_ERROR               errno of the failure; 0: SIGKILL
//   NTH_LOG                 a line for each call: its number, its name and path
//   NTH_ONCE                a file that who acts makes: of several processes the first alone does
// It declares what it replaces itself, since headers have them with other attributes.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>

extern char* program_invocation_short_name;
long syscall(long, ...);
enum { at_cwd = -100, write_only = 1, create = 0100, exclusive = 0200, append = 02000 };

static atomic_int calls;

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

/// 1: the call is to fail with errno.
static int is_hit(const char* name, const char* path) {
  if (!is_below(path)) return 0;
  int kept = errno, number = ++calls;
  note(number, name, path);
  errno = kept;
  if (number != atoi(getenv("NTH"))) return 0;
  long once =
      syscall(SYS_openat, at_cwd, getenv("NTH_ONCE"), write_only | create | exclusive, 0666);
  errno = kept;
  if (once < 0) return 0;
  syscall(SYS_close, once);
  int error = atoi(getenv("NTH_ERROR"));
  if (!error) syscall(SYS_kill, syscall(SYS_getpid), 9);
  errno = error;
  return 1;
}

static const char* path_of(int fd, char* path) {
  char link[40];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  long size = syscall(SYS_readlinkat, at_cwd, link, path, 999);
  path[size < 0 ? 0 : size] = 0;
  return path;
}

static const char* path_at(int fd, const char* path, char* whole) {
  if (fd == at_cwd || path[0] == '/') return path;
  char folder[1000];
  snprintf(whole, 2000, "%s/%s", path_of(fd, folder), path);
  return whole;
}

#define CALL(type, name, takes, passes, path)                 \
  type name takes {                                           \
    static type(*next) takes;                                 \
    char room[2000];                                          \
    (void)room;                                               \
    if (!next) next = (type(*) takes)dlsym(RTLD_NEXT, #name); \
    return is_hit(#name, path) ? -1 : next passes;            \
  }
#define AT_PATH(name) CALL(int, name, (const char* a), (a), a)
#define AT_FD(name) CALL(int, name, (int fd), (fd), path_of(fd, room))
CALL(int, open, (const char* a, int f, unsigned m), (a, f, m), a)
CALL(int, open64, (const char* a, int f, unsigned m), (a, f, m), a)
CALL(int, openat, (int d, const char* a, int f, unsigned m), (d, a, f, m), path_at(d, a, room))
CALL(int, openat64, (int d, const char* a, int f, unsigned m), (d, a, f, m), path_at(d, a, room))
CALL(ssize_t, write, (int fd, const void* p, size_t n), (fd, p, n), path_of(fd, room))
CALL(ssize_t, pwrite, (int fd, const void* p, size_t n, off_t o), (fd, p, n, o), path_of(fd, room))
CALL(ssize_t, pwrite64, (int fd, const void* p, size_t n, off_t o), (fd, p, n, o),
     path_of(fd, room))
CALL(int, ftruncate, (int fd, off_t n), (fd, n), path_of(fd, room))
CALL(int, ftruncate64, (int fd, off_t n), (fd, n), path_of(fd, room))
CALL(int, fallocate, (int fd, int m, off_t o, off_t n), (fd, m, o, n), path_of(fd, room))
CALL(int, fallocate64, (int fd, int m, off_t o, off_t n), (fd, m, o, n), path_of(fd, room))
AT_FD(fsync)
AT_FD(fdatasync)
AT_FD(close)
AT_PATH(unlink)
AT_PATH(rmdir)
AT_PATH(remove)
CALL(int, unlinkat, (int d, const char* a, int f), (d, a, f), path_at(d, a, room))
CALL(int, mkdir, (const char* a, unsigned m), (a, m), a)
CALL(int, rename, (const char* a, const char* b), (a, b), b)
CALL(int, renameat2, (int d, const char* a, int e, const char* b, unsigned f), (d, a, e, b, f),
     path_at(e, b, room))
CALL(int, symlink, (const char* a, const char* b), (a, b), b)
CALL(int, link, (const char* a, const char* b), (a, b), b)
