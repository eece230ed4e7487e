#include "program/lanes.hpp"
#include "core/error.hpp"
#include "support/toy/programs.hpp"
#include "support/catch.hpp"
#include <atomic>
#include <set>

namespace lanes_test {

using namespace toy;

namespace {

StepProgram two_lanes() {
  StepProgram p;
  const BufferId a = add_buffer(p, {.name = "a", .role = Role::value, .elements = 2}),
                 b = add_buffer(p, {.name = "b", .role = Role::value, .elements = 2});
  p.steady.push_back({Op::copy, none, none, Lane::copy_in, {Use{a, How::overwrite}}});
  p.steady.push_back(
      {Op::copy, none, none, Lane::compute, {Use{a, How::read}, Use{b, How::overwrite}}});
  return p;
}

}  // namespace

TEST_CASE("rounds run ahead until bytes say wait") {
  const StepProgram p = two_lanes();
  std::mutex mutex;
  std::condition_variable moved;
  int in = 0, allowed = 0;
  LaneRunner runner(p, derive_order(p, unplaced(p)), [&](const Instruction& i, int) {
    std::unique_lock lock(mutex);
    if (i.lane == Lane::copy_in)
      ++in;
    else
      moved.wait(lock, [&] { return allowed > 0; }), --allowed;
    moved.notify_all();
  });
  // returns at once although compute is held
  for (int r = 0; r < 3; ++r) runner.submit_round();
  {
    std::unique_lock lock(mutex);
    // the second fetch waits for the bytes
    moved.wait(lock, [&] { return in == 1; });
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  CHECK(runner.finished_rounds() == 0);
  {
    std::unique_lock lock(mutex);
    CHECK(in == 1);
    allowed = 2;
    moved.notify_all();
  }
  runner.wait_for_round(2);
  CHECK(runner.finished_rounds() == 2);
  {
    std::unique_lock lock(mutex);
    moved.wait(lock, [&] { return in == 3; });
    allowed = 1;
    moved.notify_all();
  }
  runner.wait_idle();
  CHECK(runner.finished_rounds() == 3);
}

TEST_CASE("a lane keeps its thread; what runs once and rounds may alternate") {
  StepProgram p = examples()[2].roles().programs[0];
  p.once.assign(p.steady.begin(), p.steady.begin() + 8);
  std::mutex mutex;
  std::map<Lane, std::set<std::thread::id>> threads;
  std::map<const void*, int> runs;
  std::atomic<int> count = 0;
  LaneRunner runner(p, derive_order(p, unplaced(p)), [&](const Instruction& i, int) {
    const std::lock_guard lock(mutex);
    threads[i.lane].insert(std::this_thread::get_id());
    ++count;
  });
  for (int k = 0; k < 3; ++k) {
    runner.run_once();
    runner.submit_round();
    runner.submit_round();
    runner.wait_idle();
  }
  CHECK(runner.finished_rounds() == 6);
  CHECK(count == 3 * static_cast<int>(p.once.size() + 2 * p.steady.size()));
  CHECK(threads.size() == 4);
  for (const auto& [lane, ids] : threads) CHECK(ids.size() == 1);
}

TEST_CASE("what a lane throws ends all lanes and reaches whoever waits") {
  const StepProgram p = two_lanes();
  std::atomic<int> computed = 0;
  LaneRunner runner(p, derive_order(p, unplaced(p)), [&](const Instruction& i, int) {
    if (i.lane == Lane::compute && ++computed == 2) throw std::runtime_error("lane broke");
  });
  for (int r = 0; r < 5; ++r) try {
      runner.submit_round();
    } catch (const std::runtime_error&) {}
  CHECK_THROWS_WITH(runner.wait_for_round(3), "lane broke");
  CHECK_THROWS_WITH(runner.wait_idle(), "lane broke");
  CHECK_THROWS_WITH(runner.submit_round(), "lane broke");
  CHECK(computed == 2);
  CHECK(runner.finished_rounds() == 1);
}

TEST_CASE(
    "waiting for what was never submitted is refused; a runner may be destroyed with rounds to "
    "go") {
  const StepProgram p = two_lanes();
  std::atomic<bool> held = true;
  std::thread release;
  {
    LaneRunner runner(p, derive_order(p, unplaced(p)), [&](const Instruction&, int) {
      while (held) std::this_thread::sleep_for(std::chrono::microseconds(100));
    });
    CHECK_THROWS_AS(runner.wait_for_round(1), InternalError);
    for (int r = 0; r < 1000; ++r) runner.submit_round();
    release = std::thread([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      held = false;
    });
  }
  release.join();
  CHECK_THROWS_AS(LaneRunner(p, Order{}, [](const Instruction&, int) {}), InternalError);
}

}  // namespace lanes_test
