#include "core/restarted.hpp"
#include "support/catch.hpp"

namespace restarted_test {

TEST_CASE("a call that signals interrupt is made again, one that fails is not") {
  int calls = 0;
  const auto call = [&](int interruptions, int last, int error) {
    calls = 0;
    return trainx::restarted([&] {
      errno = ++calls <= interruptions ? EINTR : error;
      return calls <= interruptions ? -1 : last;
    });
  };
  CHECK(call(2, 7, 0) == 7);
  CHECK(calls == 3);
  CHECK(call(1, -1, EIO) == -1);
  CHECK(calls == 2);
  CHECK(errno == EIO);
}

}  // namespace restarted_test
