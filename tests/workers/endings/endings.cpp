// Test cases that end in every way, for tests of who runs test binaries.
#include <unistd.h>
#include <csignal>
#include <cstdlib>
#include "support/catch.hpp"
#include "support/skip.hpp"

namespace {

TEST_CASE("passes") { CHECK(1 + 1 == 2); }
TEST_CASE("passes, with a comma and [brackets]") { CHECK(true); }
TEST_CASE("skips") { TRAINX_SKIP("no tool"); }
TEST_CASE("skips in part") {
  const int i = GENERATE(1, 2);
  CHECK(i > 0);
  if (i == 2) TRAINX_SKIP("no second tool");
}
TEST_CASE("finds no GPU", "[.]") { TRAINX_SKIP(trainx::no_gpu); }
TEST_CASE("fails as often as 77 times", "[.]") {
  for (int i = 0; i < 77; ++i) CHECK(i < 0);
}
TEST_CASE("crashes", "[.]") { std::raise(SIGSEGV); }
TEST_CASE("ends the process", "[.]") { std::_Exit(0); }
TEST_CASE("hangs", "[.]") {
  while (true) ::pause();
}

}  // namespace
