"""As many threads as a limit allows: one sentence and exit code 71 where they do not suffice,
and no command hangs."""

import shutil
import subprocess
from support import Trainx, main, tiny

# pthread_create fails while MOST_THREADS threads live, as under RLIMIT_NPROC, which does not bind
# root.
FEW = """\
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
static atomic_int living;
struct start { void* (*run)(void*); void* with; };
static void leave(void* unused) { atomic_fetch_sub(&living, 1); }
static void* begin(void* p) {
  struct start s = *(struct start*)p;
  void* result;
  free(p);
  pthread_cleanup_push(leave, NULL);
  result = s.run(s.with);
  pthread_cleanup_pop(1);
  return result;
}
int pthread_create(pthread_t* t, const pthread_attr_t* a, void* (*run)(void*), void* with) {
  static int (*real)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  struct start* s = malloc(sizeof *s);
  int error;
  if (!real) real = dlsym(RTLD_NEXT, "pthread_create");
  s->run = run, s->with = with;
  if (atomic_fetch_add(&living, 1) >= atoi(getenv("MOST_THREADS"))) {
    leave(NULL);
    return EAGAIN;
  }
  if ((error = real(t, a, begin, s))) leave(NULL);
  return error;
}
"""


class FewThreads(Trainx):
    def test_every_number_of_threads_suffices_or_is_told_of(self):
        compiler = shutil.which("cc") or shutil.which("gcc")
        if not compiler:
            self.skipTest("no C compiler")
        (self.folder / "few.c").write_text(FEW)
        subprocess.run(
            [compiler, "-shared", "-fPIC", "-o", "few.so", "few.c", "-ldl", "-pthread"],
            cwd=self.folder,
            check=True,
        )
        recipe, codes = self.recipe(tiny(steps=6, every=3)), []
        for most in range(0, 16):
            env = self.environment(
                LD_PRELOAD=str(self.folder / "few.so"), MOST_THREADS=str(most), OMP_NUM_THREADS="2"
            )
            done = self.run_trainx(
                "train", recipe, f"run.name=n{most}", "-q", env=env, expect=None, timeout=60
            )
            codes.append(done.returncode)
            self.assertIn(done.returncode, (0, 71), done.stderr)
            if done.returncode:
                said = [line for line in done.stderr.splitlines() if line.startswith("trainx: ")]
                self.assertEqual(len(said), 1, done.stderr)
                self.assertIn("ulimit -u", said[0])
            else:
                self.run_trainx("ckpt", "verify", f"outputs/n{most}")
        self.assertEqual((codes[0], codes[-1]), (71, 0))


if __name__ == "__main__":
    main()
