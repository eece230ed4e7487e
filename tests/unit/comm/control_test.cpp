#include "comm/control.hpp"
#include "support/catch.hpp"
#include "support/forked_ranks.hpp"
#include <chrono>
#include <thread>

namespace control_test {

using namespace trainx;
using namespace trainx::comm;

namespace {

ControlOptions options() {
  ControlOptions o;
  o.join_seconds = 20;
  o.hang_seconds = 20;
  o.equal_on_all = {{"trainx", "0.1"}, {"plan", "a"}};
  return o;
}

/// Every rank's words; fails where one did not end well.
std::vector<std::string> said_by(const std::vector<RankEnd>& ends) {
  std::vector<std::string> texts;
  for (const RankEnd& e : ends) texts.push_back(e.said);
  return texts;
}

}  // namespace

TEST_CASE("ranks join, exchange what they have, and leave") {
  const int world = GENERATE(1, 2, 4);
  ForkedRanks ranks(world, [](const Membership& m) {
    const auto control = Control::join(m, options());
    std::string got;
    for (int round = 0; round < 50; ++round) {
      const std::string mine = std::string(static_cast<std::size_t>(round), 'x') +
                               std::to_string(m.rank);
      const auto all = control->exchange(mine);
      for (int r = 0; r < m.world_size; ++r)
        if (all.at(r) != std::string(static_cast<std::size_t>(round), 'x') + std::to_string(r))
          throw InternalError("round " + std::to_string(round));
    }
    const auto big = control->exchange(std::string(5'000'000, static_cast<char>('a' + m.rank)));
    for (int r = 0; r < m.world_size; ++r)
      if (big.at(r) != std::string(5'000'000, static_cast<char>('a' + r)))
        throw InternalError("large");
    if (!control->one_host() || control->addresses().at(m.world_size - 1) != "127.0.0.1")
      throw InternalError("where");
    control->leave();
    return std::string("left");
  });
  CHECK(said_by(ranks.wait(20)) ==
        std::vector<std::string>(static_cast<std::size_t>(world), "left"));
}

TEST_CASE("an exchange takes little time", "[.bench]") {
  const int world = GENERATE(2, 4);
  ForkedRanks ranks(world, [](const Membership& m) {
    const auto control = Control::join(m, options());
    control->exchange("");
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < 2000; ++i) control->exchange("twelve bytes");
    const double us =
        std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start)
            .count() /
        2000;
    control->leave();
    return std::to_string(us) + " us";
  });
  WARN("exchange among " << world << " ranks: " << ranks.wait(60)[0].said);
}

TEST_CASE("a rank that is killed is lost to all others, at once and by name") {
  const int victim = GENERATE(0, 1, 2);
  ForkedRanks ranks(3, [&](const Membership& m) {
    ControlOptions o = options();
    o.describe = [&m] { return "step 3: forward of rank " + std::to_string(m.rank); };
    const auto control = Control::join(m, o);
    control->exchange("");
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    if (m.rank == victim) ::kill(::getpid(), SIGKILL);
    control->exchange("");
    return std::string("exchanged");
  });
  const auto ends = ranks.wait(20);
  for (int r = 0; r < 3; ++r) {
    INFO(ends[r].said);
    if (r == victim) {
      CHECK(ends[r].signal == SIGKILL);
      continue;
    }
    CHECK(ends[r].code == 82);
    CHECK(ends[r].seconds < 5);
    CHECK_THAT(ends[r].said,
               Catch::Matchers::StartsWith("82: rank " + std::to_string(victim) + " (host "));
    CHECK_THAT(ends[r].said,
               ContainsSubstring("last at step 3: forward of rank " + std::to_string(victim)));
  }
}

}  // namespace control_test
