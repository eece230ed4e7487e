// How a run of many ranks ends badly: whoever fails, the others know in time, and by name.
#include "comm/communicator.hpp"
#include "comm/failed_elsewhere.hpp"
#include "support/catch.hpp"
#include "support/forked_ranks.hpp"
#include "support/milestone.hpp"
#include "unit/comm/collectives.hpp"
#include <chrono>
#include <mutex>
#include <thread>

namespace failure_test {

using namespace trainx;
using namespace trainx::comm;
using Catch::Matchers::StartsWith;

namespace {

ControlOptions options(double hang_seconds = 30) {
  ControlOptions o;
  o.join_seconds = 30;
  o.hang_seconds = hang_seconds;
  o.describe = [] { return std::string("step 7: reduce g.h3"); };
  return o;
}

/// Sums until something happens; `summing`: once all ranks do.
std::string sums(Control& control, Communicator& c, std::int64_t elements,
                 const Milestone* summing = nullptr) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(40);
  collectives::Bytes data(static_cast<std::size_t>(elements) * 4);
  c.all_reduce(data.data(), elements, DType::f32);
  if (summing) summing->reach();
  while (std::chrono::steady_clock::now() < end) c.all_reduce(data.data(), elements, DType::f32);
  control.leave();
  return "nothing happened";
}

void others_say(const std::vector<RankEnd>& ends, int but, int code, const std::string& begin,
                double limit) {
  for (std::size_t r = 0; r < ends.size(); ++r) {
    if (static_cast<int>(r) == but) continue;
    CHECK_THAT(ends[r].said, StartsWith(begin));
    CHECK(ends[r].code == code);
    CHECK(ends[r].seconds < limit);
  }
}

std::string named(int rank) { return "rank " + std::to_string(rank) + " (host "; }

}  // namespace

TEST_CASE("a rank killed during a collective ends it on all others") {
  const std::string transport = GENERATE(std::string("shared memory"), std::string("TCP"));
  const int victim = GENERATE(0, 2);
  const std::int64_t elements = GENERATE(16, 3'000'000);
  const Milestone summing;
  ForkedRanks ranks(3, [&](const Membership& m) {
    const auto control = Control::join(m, options());
    const auto c = make_communicator(*control, transport);
    return sums(*control, *c, elements, &summing);
  });
  REQUIRE(summing.wait_for(3));
  std::this_thread::sleep_for(std::chrono::milliseconds(800));  // heartbeats say what ranks do
  ranks.signal(victim, SIGKILL);
  const double killed = ranks.seconds();
  const auto ends = ranks.wait(20);
  INFO(transport);
  others_say(ends, victim, 82, "82: " + named(victim), killed + 5);
  CHECK_THAT(ends[1].said, ContainsSubstring("step 7: reduce g.h3"));
}

TEST_CASE(
    "a stopped rank is told within the limit, rank 0 as well, and going on afterwards it ends "
    "too") {
  const int victim = GENERATE(0, 1);
  const Milestone summing;
  ForkedRanks ranks(3, [&](const Membership& m) {
    const auto control = Control::join(m, options(2));
    const auto c = make_communicator(*control);
    return sums(*control, *c, 1000, &summing);
  });
  REQUIRE(summing.wait_for(3));
  ranks.signal(victim, SIGSTOP);
  const double stopped = ranks.seconds();
  std::vector<RankEnd> ends;
  for (int r = 0; r < 3; ++r) ends.push_back(r == victim ? RankEnd() : ranks.wait_for_one(r, 20));
  others_say(ends, victim, 81, "81: " + named(victim), stopped + 4);
  ranks.signal(victim, SIGCONT);
  const RankEnd late = ranks.wait_for_one(victim, 25);
  CHECK(late.code == 81);
  CHECK_THAT(late.said, StartsWith("81: " + named(victim)));
}

TEST_CASE(
    "a rank that is stopped and goes on in time, and a whole job that was stopped for longer than "
    "the limit, are no failure") {
  const Milestone begun;
  ForkedRanks ranks(3, [&](const Membership& m) {
    const auto control = Control::join(m, options(2));
    const auto c = make_communicator(*control);
    begun.reach();
    collectives::Bytes data(4000);
    for (int i = 0; i < 60; ++i) {
      c->all_reduce(data.data(), 1000, DType::f32);
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    control->leave();
    return std::string("left");
  });
  const auto pause = [&](std::vector<int> which, int ms) {
    for (const int r : which) ranks.signal(r, SIGSTOP);
    std::this_thread::sleep_for(std::chrono::milliseconds(ms));
    for (const int r : which) ranks.signal(r, SIGCONT);
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
  };
  REQUIRE(begun.wait_for(3));
  pause({1}, 700);
  pause({0, 1, 2}, 3000);
  pause({2, 1, 0}, 2500);
  others_say(ranks.wait(20), -1, 0, "left", 20);
}

TEST_CASE(
    "a rank that stands still while the others wait is named, one that is busy is not, and all "
    "that wait are") {
  const std::string how =
      GENERATE(std::string("still"), std::string("busy"), std::string("all wait"));
  ForkedRanks ranks(2, [&](const Membership& m) {
    const auto control = Control::join(m, options(1.5));
    const auto c = make_communicator(*control);
    collectives::Bytes data(64);
    if (m.rank == 1 && how != "all wait") {
      if (how == "busy") control->progress().busy = "saving a checkpoint";
      for (int i = 0; i < (how == "busy" ? 40 : 100) && !control->failed(); ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
      control->progress().busy = nullptr;
    }
    if (how == "all wait")
      c->recv(data.data(), 64, 1 - m.rank);
    else
      c->all_reduce(data.data(), 16, DType::f32);
    control->leave();
    return std::string("left");
  });
  const auto ends = ranks.wait(20);
  if (how == "still") others_say(ends, -1, 81, "81: " + named(1), 8);
  if (how == "busy") others_say(ends, -1, 0, "left", 15);
  if (how == "all wait") others_say(ends, -1, 81, "81: all ranks wait for each other", 8);
}

TEST_CASE("ranks that do not make the same call end with the same sentence, which names both") {
  const std::string transport = GENERATE(std::string("shared memory"), std::string("TCP"));
  const std::string what = GENERATE(std::string("kind"), std::string("size"), std::string("dtype"),
                                    std::string("root"), std::string("received size"));
  ForkedRanks ranks(3, [&](const Membership& m) {
    const auto control = Control::join(m, options());
    const auto c = make_communicator(*control, transport);
    collectives::Bytes data(3000);
    c->all_reduce(data.data(), 16, DType::f32);
    const bool other = m.rank == 2;
    if (what == "kind")
      other ? c->broadcast(data.data(), 64, 0) : c->all_reduce(data.data(), 16, DType::f32);
    if (what == "size") c->all_reduce(data.data(), other ? 17 : 16, DType::f32);
    if (what == "dtype") c->all_reduce(data.data(), 32, other ? DType::bf16 : DType::f16);
    if (what == "root") c->reduce(data.data(), 16, DType::f32, other ? 1 : 0);
    if (what == "received size") {
      if (m.rank == 0) c->send(data.data(), 100, 2);
      if (other) c->recv(data.data(), 101, 0);
      control->exchange("");
    }
    control->leave();
    return std::string("left");
  });
  const auto ends = ranks.wait(20);
  INFO(transport << ", " << what);
  others_say(ends, -1, 81,
             "81: " + named(transport == "TCP" && what != "received size"
                                ? static_cast<int>(ends[0].said[9] - '0')
                                : 0),
             8);
  for (const RankEnd& e : ends) {
    CHECK(e.said == ends[0].said);
    CHECK_THAT(e.said, ContainsSubstring(named(2)));
  }
  if (what == "kind")
    CHECK_THAT(ends[0].said,
               ContainsSubstring(" calls all_reduce of 64 bytes as f32 (collective 2) where ") &&
                   ContainsSubstring(" calls broadcast of 64 bytes from rank 0 (collective 2): "));
  if (what == "received size")
    CHECK_THAT(ends[0].said, ContainsSubstring(" calls send of 100 bytes to rank 2 where ") &&
                                 ContainsSubstring(" calls recv of 101 bytes from rank 0: "));
}

TEST_CASE(
    "a rank that ends with an error of its own tells it to the others, and on_failure is called "
    "once") {
  const int victim = GENERATE(0, 1);
  ForkedRanks ranks(3, [&](const Membership& m) {
    auto o = options();
    std::mutex mutex;
    std::string called;
    o.on_failure = [&](ExitCode code, const std::string&) {
      const std::lock_guard lock(mutex);
      called += " on_failure " + std::to_string(static_cast<int>(code));
    };
    const auto control = Control::join(m, o);
    try {
      const auto c = make_communicator(*control);
      if (m.rank == victim) throw UserError(ExitCode::bad_data, "shard 3 is damaged");
      return sums(*control, *c, 1000);
    } catch (const UserError& e) {
      const auto* elsewhere = dynamic_cast<const FailedElsewhere*>(&e);
      if (elsewhere && elsewhere->cause() != ExitCode::bad_data)
        throw std::runtime_error("the cause is not the failed rank's own code");
      control->leave_with(e.code(), e.what());
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
      const std::lock_guard lock(mutex);
      throw UserError(e.code(), e.what() + called);
    }
  });
  const auto ends = ranks.wait(20);
  CHECK(ends[victim].said == "65: shard 3 is damaged");
  others_say(ends, victim, 82, "82: " + named(victim), 8);
  CHECK_THAT(ends[2].said, ContainsSubstring(") ended: shard 3 is damaged on_failure 82") &&
                               !ContainsSubstring("82 on_failure"));
}

TEST_CASE("what one rank finds fails all with its words; leaving waits for all") {
  ForkedRanks failing(3, [](const Membership& m) {
    const auto control = Control::join(m, options());
    if (m.rank == 1)
      control->fail(ExitCode::diverged, "the loss is not finite");
    else
      control->exchange("");
    control->throw_failure();
    return std::string();
  });
  others_say(failing.wait(10), -1, 80, "80: the loss is not finite", 5);
  ForkedRanks leaving(3, [](const Membership& m) {
    const auto control = Control::join(m, options());
    const auto start = std::chrono::steady_clock::now();
    if (m.rank == 1) std::this_thread::sleep_for(std::chrono::milliseconds(800));
    control->leave();
    // closes later than rank 0 does
    if (m.rank == 2) std::this_thread::sleep_for(std::chrono::milliseconds(500));
    return std::string(std::chrono::steady_clock::now() - start >= std::chrono::milliseconds(700) ||
                               m.rank == 1
                           ? "waited"
                           : "did not wait");
  });
  others_say(leaving.wait(10), -1, 0, "waited", 5);
}

}  // namespace failure_test
