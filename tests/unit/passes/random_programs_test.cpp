#include "support/toy/random_program.hpp"
#include "program/print.hpp"
#include "support/catch.hpp"
#include <cstdlib>

namespace random_programs_test {

using namespace toy;

TEST_CASE("random legal programs over poisoned bytes are bit-equal to loops") {
  const bool all = std::getenv("TRAINX_LONG") != nullptr;
  const unsigned count = all ? 10'000 : 1'000, first = all ? 0 : 4'000;
  for (unsigned seed = first; seed < first + count; ++seed) {
    const RandomProgram r(seed);
    Proof proof{
        .steps = 4,
        .on_lanes = seed % 4 == 0,
        .seed = seed % 20 == 0 ? seed + 1 : 0,
        .placements = {{.alignment = seed % 2 ? 256 : 8, .overlap = static_cast<int>(seed % 3)}}};
    const std::string problem = prove(r.program, r.training, proof);
    if (!problem.empty())
      FAIL(r.description << ": " << problem << "\n" << print(r.program, &r.graph));
  }
  SUCCEED(count << " programs from seed " << first);
}

TEST_CASE("deleting any instruction of random programs is noticed") {
  int deleted = 0;
  for (unsigned seed = 0; seed < (std::getenv("TRAINX_LONG") ? 300u : 30u); ++seed) {
    const RandomProgram r(seed);
    const Reference reference = as_reference(r.training);
    for (std::size_t k = 0; k < r.program.steady.size(); ++k) {
      StepProgram p = r.program;
      p.steady.erase(p.steady.begin() + static_cast<std::ptrdiff_t>(k));
      ++deleted;
      if (check_program(p, unplaced(p), &reference).empty())
        FAIL(r.description << ": without instruction " << k << "\n" << print(r.program, &r.graph));
    }
  }
  CHECK(deleted > 500);
}

}  // namespace random_programs_test
