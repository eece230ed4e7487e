// What libraries that are preloaded share: each call that changes something in the file system is
// replaced by one that first asks before(), and tells after() what the real one answered. Paths
// are as the caller gave them. It declares what it replaces itself, since headers have them with
// other attributes.
//   before  1: the call is to fail with errno, and the real one is not made; it may lessen the size
//           of a write
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>

extern char* program_invocation_short_name;
long syscall(long, ...);
enum {
  at_cwd = -100,
  write_only = 1,
  create = 0100,
  exclusive = 0200,
  cut = 01000,
  append = 02000
};

/// What a call is about; what it has no use for is 0.
struct call {
  const char* name;
  int fd;
  const char *path, *other;  // other: of a rename or link, where from
  const void* data;
  long size, offset;  // bytes; offset -1: where the file stands
  int flags;
};

static int before(struct call* c);
static void after(const struct call* c, long answer);

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

#define CALL(type, called, ...) CALL_OR(-1, type, called, __VA_ARGS__)
#define CALL_OR(failed, type, called, takes, passes, ...)       \
  type called takes {                                           \
    static type(*next) takes;                                   \
    char room[2000], more[2000];                                \
    (void)room, (void)more;                                     \
    if (!next) next = (type(*) takes)dlsym(RTLD_NEXT, #called); \
    struct call c = {.name = #called, .fd = -1, __VA_ARGS__};   \
    if (before(&c)) return failed;                              \
    type answer = next passes;                                  \
    int kept = errno;                                           \
    after(&c, (long)answer);                                    \
    errno = kept;                                               \
    return answer;                                              \
  }
#define OF_FD .fd = fd, .path = path_of(fd, room)
#define OF_PATH .path = a
#define FROM_TO .path = b, .other = a
CALL(int, open, (const char* a, int f, unsigned m), (a, f, m), OF_PATH, .flags = f)
CALL(int, open64, (const char* a, int f, unsigned m), (a, f, m), OF_PATH, .flags = f)
CALL(int, openat, (int d, const char* a, int f, unsigned m), (d, a, f, m),
     .path = path_at(d, a, room), .flags = f)
CALL(int, openat64, (int d, const char* a, int f, unsigned m), (d, a, f, m),
     .path = path_at(d, a, room), .flags = f)
CALL_OR(NULL, FILE*, fopen, (const char* a, const char* m), (a, m), OF_PATH,
        .flags = *m == 'w'   ? create | cut
                 : *m == 'a' ? create
                             : 0)
CALL_OR(NULL, FILE*, fopen64, (const char* a, const char* m), (a, m), OF_PATH,
        .flags = *m == 'w'   ? create | cut
                 : *m == 'a' ? create
                             : 0)
CALL(ssize_t, write, (int fd, const void* p, size_t n), (fd, p, c.size), OF_FD, .data = p,
     .size = n, .offset = -1)
CALL(ssize_t, pwrite, (int fd, const void* p, size_t n, off_t o), (fd, p, c.size, o), OF_FD,
     .data = p, .size = n, .offset = o)
CALL(ssize_t, pwrite64, (int fd, const void* p, size_t n, off_t o), (fd, p, c.size, o), OF_FD,
     .data = p, .size = n, .offset = o)
CALL(int, ftruncate, (int fd, off_t n), (fd, n), OF_FD, .size = n)
CALL(int, ftruncate64, (int fd, off_t n), (fd, n), OF_FD, .size = n)
CALL(int, fallocate, (int fd, int m, off_t o, off_t n), (fd, m, o, n), OF_FD)
CALL(int, fallocate64, (int fd, int m, off_t o, off_t n), (fd, m, o, n), OF_FD)
CALL(int, fsync, (int fd), (fd), OF_FD)
CALL(int, fdatasync, (int fd), (fd), OF_FD)
CALL(int, close, (int fd), (fd), OF_FD)
CALL(int, unlink, (const char* a), (a), OF_PATH)
CALL(int, rmdir, (const char* a), (a), OF_PATH)
CALL(int, remove, (const char* a), (a), OF_PATH)
CALL(int, unlinkat, (int d, const char* a, int f), (d, a, f), .path = path_at(d, a, room))
CALL(int, mkdir, (const char* a, unsigned m), (a, m), OF_PATH)
CALL(int, rename, (const char* a, const char* b), (a, b), FROM_TO)
CALL(int, renameat2, (int d, const char* a, int e, const char* b, unsigned f), (d, a, e, b, f),
     .path = path_at(e, b, room), .other = path_at(d, a, more), .flags = f)
CALL(int, symlink, (const char* a, const char* b), (a, b), FROM_TO)
CALL(int, link, (const char* a, const char* b), (a, b), FROM_TO)
