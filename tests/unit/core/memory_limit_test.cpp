#include "core/memory_limit.hpp"
#include <sys/resource.h>
#include "support/catch.hpp"

namespace memory_limit_test {

using namespace trainx;

TEST_CASE("who has a limit of memory is told of it, and not of the machine") {
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_AS, &before) == 0);
  const rlim_t tib = rlim_t{1} << 40;
  const rlimit limited{tib, before.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_AS, &limited) == 0);
  const auto limit = memory_limit();
  const std::string said = no_memory_sentence();
  REQUIRE(::setrlimit(RLIMIT_AS, &before) == 0);
  REQUIRE(limit);
  CHECK(*limit <= static_cast<std::int64_t>(tib));
  CHECK(said.find("ulimit -v") != std::string::npos);
  if (!memory_limit()) CHECK(no_memory_sentence().find("ulimit") == std::string::npos);
}

}  // namespace memory_limit_test
