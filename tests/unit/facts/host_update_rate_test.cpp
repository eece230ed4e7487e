#include "facts/host_update_rate.hpp"
#include "facts/facts.hpp"
#include "support/made_up_tree.hpp"
#include "support/catch.hpp"
#include <cstdlib>

namespace host_update_rate_test {

using namespace trainx::facts;

namespace {

struct Cache : MadeUpTree {
  Cache() { ::setenv("XDG_CACHE_HOME", root.c_str(), 1); }
  ~Cache() { ::unsetenv("XDG_CACHE_HOME"); }
};

}  // namespace

TEST_CASE("how fast the host updates is measured once, for as many threads") {
  const Cache t;
  CHECK(remembered_host_update_rate(2) == 0);
  const double rate = known_host_update_rate(2);
  CHECK(rate > 1e8);
  CHECK(rate < 1e13);
  CHECK(remembered_host_update_rate(2) == rate);
  CHECK(known_host_update_rate(2) == rate);  // two measurements would differ in some digit
  CHECK(remembered_host_update_rate(1) == 0);
}

TEST_CASE(
    "a rate of another boot or in an unreadable file is measured again; nowhere to keep it is no "
    "problem") {
  const Cache t;
  for (const char* broken : {"", "{", "[1]", R"({"state": 3})",
                             R"({"state": "another boot", "bytes_per_second": 1e9})"}) {
    t.write("trainx/host_updates.json", broken);
    CHECK(remembered_host_update_rate(1) == 0);
  }
  CHECK(known_host_update_rate(1) > 1e8);
  CHECK(remembered_host_update_rate(1) > 1e8);
  ::setenv("XDG_CACHE_HOME", "/proc/none", 1);
  CHECK(known_host_update_rate(1) > 1e8);
  CHECK(remembered_host_update_rate(1) == 0);
}

TEST_CASE("what doctor measured is a fact of the machine") {
  const Cache t;
  CHECK(detect_hardware().host_update_bytes_per_s == 0);
  remember_host_update_rate(1.5e11, detect_hardware().cpu_cores);
  CHECK(detect_hardware().host_update_bytes_per_s == 1.5e11);
  remember_host_update_rate(-1, detect_hardware().cpu_cores);
  CHECK(detect_hardware().host_update_bytes_per_s == 0);
}

}  // namespace host_update_rate_test
