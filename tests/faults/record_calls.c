// LD_PRELOAD: writes down what changes the file system below a folder, and what trainx prints, in
// the order in which it happened: the calls of all processes, each after it was made and before
// its caller goes on. power_cuts.py reads it.
//   RECORD        the file that records are appended to
//   RECORD_BELOW  only paths that hold this
#include "calls.h"
#include <sys/stat.h>
#include <sys/uio.h>

int fstat(int, struct stat*);
int lstat(const char*, struct stat*);
off_t lseek(int, off_t, int);
int fileno(FILE*);
char* getcwd(char*, size_t);
ssize_t writev(int, const struct iovec*, int);

/// As power_cuts.py reads it, followed by both paths and the data.
struct __attribute__((packed)) record {
  char kind;
  unsigned long inode;
  long offset;
  unsigned size;
  unsigned short path, other;
};

/// Of a write the size before it, since another thread may write on before it is recorded.
static __thread long at;
static __thread int is_new;

static int is_ours(const struct call* c) {
  const char* below = getenv("RECORD_BELOW");
  return below && getenv("RECORD") && c->path && strstr(c->path, below);
}

static int before(struct call* c) {
  int kept = errno;
  struct stat s;
  if (c->flags & create && is_ours(c)) is_new = lstat(c->path, &s) != 0;
  if (c->data && c->offset < 0) {
    at = lseek(c->fd, 0, 1);
    // O_APPEND writes at the end, wherever the file stands
    if (!fstat(c->fd, &s) && syscall(SYS_fcntl, c->fd, 3 /*F_GETFL*/, 0) & append) at = s.st_size;
  }
  errno = kept;
  return 0;
}

static const char* whole(const char* path, char* room) {
  char folder[1000];
  if (!path || path[0] == '/') return path ? path : "";
  snprintf(room, 2100, "%s/%s", getcwd(folder, sizeof folder), path);
  return room;
}

static void put(char kind, unsigned long inode, long offset, const struct call* c, long size) {
  char a[2100], b[2100];
  const char* path = whole(c->path, a);
  // a symbolic link's other path is what it says, not a file
  const char* other = kind == 'l' ? c->other : whole(c->other, b);
  struct record r = {kind, inode, offset, (unsigned)size, strlen(path), strlen(other)};
  struct iovec parts[] = {{&r, sizeof r},
                          {(void*)path, r.path},
                          {(void*)other, r.other},
                          {(void*)c->data, (size_t)size}};
  long log = syscall(SYS_openat, at_cwd, getenv("RECORD"), write_only | create | append, 0666);
  writev((int)log, parts, 4);
  syscall(SYS_close, log);
}

static int is(const struct call* c, const char* name) {
  return !strncmp(c->name, name, strlen(name));
}

static void after(const struct call* c, long answer) {
  if (c->fd == 1 && c->data && getenv("RECORD") && !strcmp(program_invocation_short_name, "trainx"))
    return put('p', 0, 0, c, answer > 0 ? answer : 0);
  if (!is_ours(c) || answer == -1 || (is(c, "fopen") && !answer)) return;
  struct stat s = {0};
  int fd = is(c, "open") ? (int)answer : is(c, "fopen") ? fileno((FILE*)answer) : c->fd;
  if (fd >= 0) fstat(fd, &s);
  if (c->flags & create && is_new && (is(c, "open") || is(c, "fopen")))
    put('c', s.st_ino, 0, c, 0);
  else if (c->flags & cut && (is(c, "open") || is(c, "fopen")))
    put('t', s.st_ino, 0, c, 0);
  else if (c->data)
    put('w', s.st_ino, c->offset < 0 ? at : c->offset, c, answer);
  else if (is(c, "ftruncate"))
    put('t', s.st_ino, c->size, c, 0);
  else if (is(c, "fsync") || is(c, "fdatasync"))
    put('s', s.st_ino, 0, c, 0);
  else if (is(c, "unlink") || is(c, "rmdir") || is(c, "remove"))
    put('u', 0, 0, c, 0);
  else if (is(c, "mkdir")) {
    lstat(c->path, &s);
    put('m', s.st_ino, 0, c, 0);
  } else if (is(c, "rename"))
    put(c->flags ? 'x' : 'r', 0, 0, c, 0);  // the one flag in use exchanges
  else if (is(c, "symlink"))
    put('l', 0, 0, c, 0);
  else if (is(c, "link"))
    put('h', 0, 0, c, 0);
}
