#include "core/work_queue.hpp"
#include "support/catch.hpp"
#include <atomic>
#include <stdexcept>
#include <vector>

namespace work_queue_test {

using trainx::WorkQueue;

TEST_CASE("work is done in the order of asking, each once") {
  WorkQueue queue;
  std::vector<int> made;  // by one thread
  std::uint64_t last = 0;
  for (int k = 0; k < 1000; ++k) last = queue.add([&made, k] { made.push_back(k); });
  CHECK(last == 1000);
  queue.wait_for(last);
  REQUIRE(made.size() == 1000);
  for (int k = 0; k < 1000; ++k) CHECK(made[static_cast<std::size_t>(k)] == k);
  queue.wait_for_all();
}

TEST_CASE("waiting for one does not wait for those behind it") {
  WorkQueue queue;
  std::atomic<bool> go = false;
  const std::uint64_t first = queue.add([] {});
  queue.add([&] { go.wait(false); });
  queue.wait_for(first);
  CHECK(!go);
  go = true;
  go.notify_all();
  queue.wait_for_all();
}

TEST_CASE("after one that fails none is done, and whoever waits hears of it") {
  WorkQueue queue;
  bool made = false;
  const std::uint64_t before = queue.add([] {});
  queue.wait_for(before);
  queue.add([] { throw std::runtime_error("full"); });
  queue.add([&] { made = true; });
  for (int k = 0; k < 2; ++k) CHECK_THROWS_WITH(queue.wait_for_all(), "full");
  CHECK_THROWS_WITH(queue.wait_for(before + 1), "full");
  CHECK(!made);
}

TEST_CASE("a queue that is given up while work waits ends") {
  std::atomic<int> made = 0;
  {
    WorkQueue queue;
    for (int k = 0; k < 100; ++k) queue.add([&] { ++made; });
  }
  CHECK(made <= 100);
}

}  // namespace work_queue_test
