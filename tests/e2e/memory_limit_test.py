"""A limit of memory that does not suffice: one sentence and exit code 71, however early."""
import resource
import shutil
import subprocess

from support import TRAINX, Trainx, main, tiny

MIB = 1 << 20
# A library's thread for which there is no memory, while trainx trains.
WITHOUT = """\
#include <unistd.h>
#include <chrono>
#include <cstring>
#include <new>
#include <thread>
extern "C" char* program_invocation_short_name;
static void end() {
  while (access("outputs/tiny/metrics.jsonl", F_OK) != 0)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  throw std::bad_alloc();
}
__attribute__((constructor)) static void begin() {
  if (!std::strcmp(program_invocation_short_name, "trainx-worker")) std::thread(end).detach();
}
"""


# A library that aborts where malloc gives it nothing, as glibc's own code does.
ABORTS = """\
#include <sys/resource.h>
#include <unistd.h>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>
extern "C" char* program_invocation_short_name;
static void end() {
  while (access("outputs/tiny/metrics.jsonl", F_OK) != 0)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  struct rlimit limit;
  getrlimit(RLIMIT_AS, &limit);
  limit.rlim_cur = 1 << 20;
  setrlimit(RLIMIT_AS, &limit);
  std::abort();
}
__attribute__((constructor)) static void begin() {
  if (!std::strcmp(program_invocation_short_name, "trainx-worker")) std::thread(end).detach();
}
"""
# One that takes all that the limit leaves, gives it back, and calls exit as OpenMP's does.
ENDS = ABORTS.replace("""\
  limit.rlim_cur = 1 << 20;
  setrlimit(RLIMIT_AS, &limit);
  std::abort();
""", """\
  std::size_t bytes = limit.rlim_cur;
  void* room = MAP_FAILED;
  for (; room == MAP_FAILED; bytes -= 16 << 20)
    room = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  munmap(room, bytes);
  std::exit(1);
""").replace("#include <sys/resource.h>", "#include <sys/mman.h>\n#include <sys/resource.h>")


class MemoryLimit(Trainx):
    def check_told(self, done):
        self.assertEqual(done.returncode, 71, done.stderr)
        said = [line for line in done.stderr.splitlines() if line.startswith("trainx: ")]
        self.assertEqual(len(said), 1, done.stderr)
        return said[0]

    def test_limits_of_address_space(self):
        recipe, codes = self.recipe(tiny(steps=6, every=6)), []
        for mib in (60, 200, 400, 460, 490, 550, 700, 4000):
            limit = (mib * MIB, mib * MIB)
            with self.subTest(mib=mib):
                done = subprocess.run(
                    [TRAINX, "-q", "train", recipe, f"run.name=m{mib}"], cwd=self.folder,
                    capture_output=True, text=True, timeout=120, env=self.environment(),
                    preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, limit))
                codes.append(done.returncode)
                if done.returncode:
                    self.assertIn("ulimit -v", self.check_told(done))
        self.assertEqual((codes[0], codes[-1]), (71, 0))

    def run_with(self, library, limit=None):
        """What a long run says that `library`, a C++ source, is loaded into."""
        compiler = shutil.which("c++") or shutil.which("g++")
        if not compiler:
            self.skipTest("no C++ compiler")
        (self.folder / "library.cpp").write_text(library)
        subprocess.run(
            [compiler, "-shared", "-fPIC", "-o", "library.so", "library.cpp", "-pthread"],
            cwd=self.folder, check=True)
        recipe = self.recipe(tiny(steps=100_000, every=100_000))
        return subprocess.run(
            [TRAINX, "train", recipe, "-q"], cwd=self.folder, capture_output=True, text=True,
            timeout=120, env=self.environment(LD_PRELOAD=str(self.folder / "library.so")),
            preexec_fn=limit)

    def test_a_thread_of_a_library_that_gets_no_memory(self):
        self.assertIn("memory", self.check_told(self.run_with(WITHOUT)))

    def test_a_library_that_aborts_for_lack_of_memory(self):
        tib = (1 << 40, resource.getrlimit(resource.RLIMIT_AS)[1])
        done = self.run_with(ABORTS, lambda: resource.setrlimit(resource.RLIMIT_AS, tib))
        self.assertIn("ulimit -v", self.check_told(done))

    def test_a_library_that_ends_the_process_for_lack_of_memory(self):
        """Memory is free again when the worker asks, as other threads end."""
        tib = (1 << 40, resource.getrlimit(resource.RLIMIT_AS)[1])
        done = self.run_with(ENDS, lambda: resource.setrlimit(resource.RLIMIT_AS, tib))
        self.assertIn("ulimit -v", self.check_told(done))


if __name__ == "__main__":
    main()
