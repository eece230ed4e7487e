// LD_PRELOAD: the clock of the day jumps.
//   JUMP_AT  seconds since 1970, when
//   JUMP_BY  seconds, how far
#include <stdlib.h>
#include <sys/syscall.h>

struct seconds {
  long whole, parts;  // parts: nanoseconds, or microseconds
};
long syscall(long, ...);

static long jump(long now) { return now >= atof(getenv("JUMP_AT")) ? atol(getenv("JUMP_BY")) : 0; }

int clock_gettime(int clock, struct seconds* out) {
  long answer = syscall(SYS_clock_gettime, clock, out);
  if (!answer && (clock == 0 || clock == 5)) out->whole += jump(out->whole);  // realtime, coarse
  return (int)answer;
}

int gettimeofday(struct seconds* out, void* zone) {
  long answer = syscall(SYS_gettimeofday, out, zone);
  if (!answer && out) out->whole += jump(out->whole);
  return (int)answer;
}

long time(long* out) {
  struct seconds now;
  clock_gettime(0, &now);
  if (out) *out = now.whole;
  return now.whole;
}
