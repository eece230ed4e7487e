#include "comm/waits.hpp"
#include "comm/watch.hpp"
#include "support/catch.hpp"
#include "support/golden.hpp"

namespace watch_test {

using namespace trainx;
using namespace trainx::comm;
using Catch::Matchers::StartsWith;

namespace {

/// Three ranks with a limit of 10 s, looked at five times a second.
struct Played {
  Time now{};
  std::vector<Pulse> pulses = std::vector<Pulse>(3);
  std::vector<bool> silent = std::vector<bool>(3, false);
  Watch watch{
      {"rank 0 (host a, pid 1)", "rank 1 (host a, pid 2)", "rank 2 (host b, pid 3)"}, 10, Time{}};

  Played() {
    for (int r = 0; r < 3; ++r) pulses[r].at = "step " + std::to_string(r);
  }
  /// Until a failure, at most for this long. `each`: before every look.
  std::optional<Failure> play(double for_seconds, const std::function<void()>& each = {}) {
    for (const Time end = now + seconds(for_seconds); now < end;) {
      now += beat_period;
      if (each) each();
      for (int r = 0; r < 3; ++r)
        if (!silent[r]) watch.heard(r, pulses[r], now);
      if (auto failure = watch.look(now)) return failure;
    }
    return std::nullopt;
  }
  double at() const { return std::chrono::duration<double>(now.time_since_epoch()).count(); }
};

}  // namespace

TEST_CASE("ranks that move, or that nobody waits for, are left alone") {
  Played p;
  CHECK(!p.play(100, [&] {
    for (Pulse& x : p.pulses) ++x.done;
  }));
  CHECK(!p.play(100));  // all compute for long
}

TEST_CASE(
    "a silent rank is stopped, before the limit is over, and named with what it was at and who "
    "waits") {
  Played p;
  CHECK(!p.play(1));
  p.silent[2] = true;
  p.pulses[0].waits_for_peers = true;
  const auto failure = p.play(20);
  REQUIRE(failure);
  CHECK(failure->code == ExitCode::hang);
  CHECK(p.at() < 11);
  CHECK_THAT(failure->sentence, StartsWith("rank 2 (host b, pid 3) "));
  check_sentence("dist.watch/stopped", failure->sentence);
}

TEST_CASE(
    "a rank that stands still while others wait is named, counted from when they began to wait") {
  Played p;
  p.pulses[1].waits_for_peers = p.pulses[2].waits_for_peers = false;
  CHECK(!p.play(50));
  // the others are 50 s into their work, which is no hang at once
  p.pulses[1].waits_for_peers = true;
  CHECK(!p.play(9, [&] { ++p.pulses[2].done; }));
  const auto failure = p.play(2, [&] { ++p.pulses[2].done; });
  REQUIRE(failure);
  CHECK(failure->code == ExitCode::hang);
  CHECK_THAT(failure->sentence,
             StartsWith("rank 0 (host a, pid 1) ") && ContainsSubstring("run.hang_limit (10 s)"));
  check_sentence("dist.watch/stands_still", failure->sentence);
}

TEST_CASE("a busy rank may stand still") {
  Played p;
  p.pulses[0].waits_for_peers = p.pulses[1].waits_for_peers = true;
  p.pulses[2].busy = "saving a checkpoint";
  CHECK(!p.play(100));
  p.pulses[2].busy = "";
  CHECK(p.play(11));
}

TEST_CASE("all that wait for each other without end are named") {
  Played p;
  for (Pulse& x : p.pulses) x.waits_for_peers = true;
  CHECK(!p.play(9));
  const auto failure = p.play(2);
  REQUIRE(failure);
  CHECK(failure->code == ExitCode::hang);
  for (const std::string rank :
       {"rank 0 (host a, pid 1) at step 0", "rank 1 (host a, pid 2) at step 1",
        "rank 2 (host b, pid 3) at step 2"})
    CHECK_THAT(failure->sentence, ContainsSubstring(rank));
  check_sentence("dist.watch/all_wait", failure->sentence);
}

TEST_CASE("a rank waits while any of its threads does, in whatever order they end") {
  Progress progress;
  auto lane = std::make_unique<WaitsForPeers>(progress),
       trainer = std::make_unique<WaitsForPeers>(progress);
  lane.reset();
  CHECK(progress.waiting == 1);
  lane = std::make_unique<WaitsForPeers>(progress);
  trainer.reset();
  CHECK(progress.waiting == 1);
  lane.reset();
  CHECK(progress.waiting == 0);
}

TEST_CASE("a watch that was away itself accuses nobody, and begins anew") {
  Played p;
  p.silent = {true, true, true};
  CHECK(!p.play(7));
  p.now += std::chrono::hours(1);
  CHECK(!p.play(7));
  CHECK(p.play(7));
}

TEST_CASE("without a limit standing still is no failure, and a loss still is one") {
  Watch watch({"rank 0 (host a, pid 1)", "rank 1 (host a, pid 2)"}, 0, Time{});
  watch.heard(0, {.done = 3, .waits_for_peers = true, .busy = {}, .at = "step 4: reduce"}, Time{});
  CHECK(!watch.look(Time{} + std::chrono::milliseconds(500)));
  const Failure failure = watch.lost(1);
  CHECK(failure.code == ExitCode::peer_lost);
  CHECK_THAT(failure.sentence, StartsWith("rank 1 (host a, pid 2) is lost") &&
                                   ContainsSubstring("while rank 0 waits at step 4: reduce"));
}

}  // namespace watch_test
