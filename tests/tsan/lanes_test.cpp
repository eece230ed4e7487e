// The lane machinery under the thread sanitizer: programs of all kinds with random delays, each
// bit-equal to loops. Its own main: exit code 1 on a difference.
#include "support/toy/programs.hpp"
#include "support/toy/random_program.hpp"
#include <atomic>
#include <cstdio>
#include <stdexcept>

using namespace toy;

int main() {
  int failures = 0, runs = 0;
  auto tell = [&](const std::string& what, const std::string& problem) {
    ++runs;
    if (problem.empty()) return;
    std::printf("%s: %s\n", what.c_str(), problem.c_str());
    ++failures;
  };
  for (const Example& e : examples())
    tell("program (" + e.name + ")", prove(e.roles(), e.training(), {.steps = 6, .seed = 1}));
  for (unsigned seed = 0; seed < 40; ++seed) {
    const RandomProgram r(seed);
    tell(r.description,
         prove(r.program, r.training,
               {.steps = 4,
                .seed = seed + 1,
                .placements = {{.alignment = 8, .overlap = static_cast<int>(seed % 2)}}}));
  }
  // An exception in one lane while others run, and destruction with rounds to go.
  for (unsigned k = 0; k < 20; ++k) {
    const Example e = examples()[2];
    const StepProgram p = e.roles().programs[0];
    std::atomic<int> count = 0;
    LaneRunner runner(p, derive_order(p, unplaced(p)), [&](const Instruction&, int) {
      if (++count == static_cast<int>(20 + k)) throw std::runtime_error("broke");
    });
    bool thrown = false;
    try {
      runner.run_once();
      for (int r = 0; r < 5; ++r) runner.submit_round();
      if (k % 2) runner.wait_idle();
    } catch (const std::runtime_error&) { thrown = true; }
    if (k % 2) tell("exception", thrown ? "" : "was not rethrown");
  }
  std::printf("%d runs, %d failures\n", runs, failures);
  return failures != 0;
}
