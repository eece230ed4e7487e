#include "checkpoint/twice.hpp"
#include "support/catch.hpp"
#include <tuple>

namespace twice_test {

namespace {

using namespace trainx;
using checkpoint::twice;

/// Fails so often, then gives 7.
struct Fails {
  int times;
  ExitCode code;
  int calls = 0;
  int operator()() {
    if (++calls <= times) throw UserError(code, "failed");
    return 7;
  }
};

TEST_CASE("what the file system refuses is tried a second time, and nothing else") {
  for (const auto& [times, code, calls, works] :
       {std::tuple{0, ExitCode::io_error, 1, true}, std::tuple{1, ExitCode::io_error, 2, true},
        std::tuple{2, ExitCode::io_error, 2, false}, std::tuple{1, ExitCode::bad_data, 1, false}}) {
    Fails act{times, code};
    if (works)
      CHECK(twice([&] { return act(); }) == 7);
    else
      CHECK_THROWS_AS(twice([&] { return act(); }), UserError);
    CHECK(act.calls == calls);
  }
}

}  // namespace

}  // namespace twice_test
