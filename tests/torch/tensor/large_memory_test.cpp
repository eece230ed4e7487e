#include "tensor/large_memory.hpp"
#include <ATen/Parallel.h>
#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>
#include "support/catch.hpp"

namespace large_memory_test {

using namespace trainx;

namespace {

/// How often each of n was given to somebody, and in how many parts all were.
std::pair<std::vector<int>, int> given(std::int64_t n, std::int64_t least) {
  std::vector<int> times(static_cast<std::size_t>(n));
  std::mutex mutex;
  int parts = 0;
  tensor::for_parts(n, least, [&](std::int64_t begin, std::int64_t end) {
    const std::lock_guard lock(mutex);
    ++parts;
    for (std::int64_t k = begin; k < end; ++k) ++times[static_cast<std::size_t>(k)];
  });
  return {times, parts};
}

}  // namespace

TEST_CASE("parts are all of it, each once; one thread takes it as one") {
  const int before = at::get_num_threads();
  at::set_num_threads(3);
  for (const std::int64_t n : {0, 1, 7, 1000}) {
    CAPTURE(n);
    const auto each_once = [&](const std::vector<int>& times) {
      return std::ranges::all_of(times, [](int t) { return t == 1; });
    };
    CHECK(each_once(given(n, 1).first));
    CHECK((given(n, 1).second > 1) == (n > 1));
    CHECK(given(n, 2000).second == (n > 0));
    {
      const tensor::OneThread alone;
      { const tensor::OneThread again; }
      CHECK(each_once(given(n, 1).first));
      CHECK(given(n, 1).second == (n > 0));
    }
    CHECK((given(n, 1).second > 1) == (n > 1));
  }
  at::set_num_threads(before);
}

TEST_CASE("large memory is set and copied to its last byte, and not beyond") {
  const std::size_t bytes = 5 * static_cast<std::size_t>(tensor::least_bytes) + 3;
  std::vector<std::byte> from(bytes), to(bytes + 1, std::byte{7});
  for (std::size_t k = 0; k < bytes; ++k) from[k] = static_cast<std::byte>(k * 31 % 251);
  tensor::copy(to.data(), from.data(), bytes);
  CHECK(std::equal(from.begin(), from.end(), to.begin()));
  CHECK(to.back() == std::byte{7});
  tensor::set_zero(to.data(), bytes);
  CHECK(std::ranges::count(to, std::byte{0}) == static_cast<std::ptrdiff_t>(bytes));
  CHECK(to.back() == std::byte{7});
}

}  // namespace large_memory_test
