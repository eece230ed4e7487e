#include "train/release_observer.hpp"
#include "core/process_memory.hpp"
#include "support/catch.hpp"
#include <cstring>
#include <memory>
#include <thread>

namespace release_test {

#ifndef __SANITIZE_ADDRESS__  // whose allocator keeps what is freed
TEST_CASE("memory that was freed and kept leaves the process when caches are released") {
  // 128 MiB, in pieces that the C library keeps when they are freed
  constexpr std::size_t piece = 64 << 10, pieces = 2048;
  std::unique_ptr<char[]> last;
  std::thread([&] {  // as lanes do
    std::vector<std::unique_ptr<char[]>> memory;
    for (std::size_t i = 0; i < pieces; ++i) {
      memory.emplace_back(new char[piece]);
      std::memset(memory.back().get(), 1, piece);
    }
    last = std::move(memory.back());  // above all that is freed
  })
      .join();
  const std::int64_t before = trainx::resident_bytes();
  const std::int64_t released = trainx::train::release_caches();
  CAPTURE(before, released);
  CHECK(released > 100'000'000);
  CHECK(trainx::resident_bytes() < before - 100'000'000);
  CHECK(last[piece - 1] == 1);  // what is in use stays
  CHECK(trainx::train::release_caches() < 10'000'000);
}
#endif

}  // namespace release_test
