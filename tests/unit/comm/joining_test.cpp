// What keeps ranks from coming together, and what does not.
#include "comm/connection.hpp"
#include "comm/control.hpp"
#include "core/error.hpp"
#include "log/log.hpp"
#include "support/catch.hpp"
#include "support/forked_ranks.hpp"
#include "support/golden.hpp"
#include "support/milestone.hpp"
#include <cerrno>
#include <cstring>
#include <sys/socket.h>
#include <unistd.h>
#include <chrono>
#include <mutex>
#include <thread>

namespace joining_test {

using namespace trainx;
using namespace trainx::comm;
using Catch::Matchers::StartsWith;

namespace {

ControlOptions options(double join_seconds = 20) {
  ControlOptions o;
  o.join_seconds = join_seconds;
  return o;
}

std::string joins(const Membership& m, const ControlOptions& o) {
  const auto control = Control::join(m, o);
  control->leave();
  return "joined";
}

void all_say(const std::vector<RankEnd>& ends, const std::string& begin, int code, double limit) {
  for (const RankEnd& e : ends) {
    CHECK_THAT(e.said, StartsWith(begin));
    CHECK(e.said == ends[0].said);
    CHECK(e.code == code);
    CHECK(e.seconds < limit);
  }
}

}  // namespace

TEST_CASE("where a value differs nobody begins, and all say which and whose") {
  ForkedRanks ranks(3, [](const Membership& m) {
    auto o = options();
    o.equal_on_all = {{"plan", m.rank == 2 ? "another" : "one"}, {"trainx", "1"}};
    return joins(m, o);
  });
  const auto ends = ranks.wait(10);
  all_say(ends, "78: rank 2 (host ", 78, 5);
  CHECK_THAT(ends[0].said, ContainsSubstring("another plan") && ContainsSubstring("rank 0 (host "));
}

TEST_CASE("two ranks of a host on one device, and on none") {
  const std::string device = GENERATE(std::string("GPU 3 (uuid)"), std::string());
  ForkedRanks ranks(2, [&](const Membership& m) {
    auto o = options();
    o.device = device;
    return joins(m, o);
  });
  const auto ends = ranks.wait(10);
  if (device.empty())
    all_say(ends, "joined", 0, 5);
  else
    all_say(ends, "78: ranks 0 and 1 ", 78, 5);
}

TEST_CASE("two processes of one rank, and a rank of a larger run") {
  const bool larger = GENERATE(false, true);
  ForkedRanks ranks(
      3, [](const Membership& m) { return joins(m, options()); },
      [&](Membership& m) {
        if (m.rank == 2) larger ? m.world_size = 4 : m.rank = 1;
      });
  all_say(ranks.wait(10), larger ? "78: rank 2 (host " : "78: two processes ", 78, 8);
}

TEST_CASE("who waits says for whom before the time is over, and once") {
  ForkedRanks ranks(3, [](const Membership& m) {
    if (m.rank == 1) return std::string();
    std::mutex mutex;
    std::string warned;
    const log::Screen screen(log::Level::warning, [&](log::Level, std::string_view text) {
      const std::lock_guard lock(mutex);
      warned += text;
    });
    Membership nowhere = m;
    if (m.rank == 2) nowhere.address = "no-such-host.invalid";
    try {
      joins(nowhere, options(2));
    } catch (const UserError&) {}
    const std::lock_guard lock(mutex);
    return warned;
  });
  const auto ends = ranks.wait(20);
  CHECK_THAT(ends[0].said, StartsWith("rank 0 "));
  CHECK_THAT(ends[0].said, ContainsSubstring("1, 2"));
  CHECK_THAT(ends[2].said, StartsWith("rank 2 "));
  CHECK_THAT(ends[2].said, ContainsSubstring("no-such-host.invalid"));
  CHECK(ends[2].said.find("rank 2", 1) == std::string::npos);
}

TEST_CASE("who does not come is named by all others") {
  ForkedRanks ranks(4, [](const Membership& m) {
    if (m.rank == 1 || m.rank == 3)
      return std::string("69: ranks 1, 3 of 4 did not arrive: not started");
    return joins(m, options(1));
  });
  auto ends = ranks.wait(10);
  ends = {ends[0], ends[2]};
  all_say(ends, "69: ranks 1, 3 of 4 ", 69, 5);
}

TEST_CASE("a rank without a rank 0 says that it is not reached") {
  const Milestone deaf, told;  // rank 0 no longer listens; rank 1 has said so
  ForkedRanks ranks(2, [&](const Membership& m) {
    if (m.rank == 0) {  // ends before it listens, and nobody else gets the port meanwhile
      ::shutdown(m.listener, SHUT_RDWR);
      deaf.reach();
      const bool has_said = told.wait_for(1);
      ::close(m.listener);
      return std::string(has_said ? "" : "rank 1 says nothing");
    }
    if (!deaf.wait_for(1)) return std::string("rank 0 said nothing");
    try {
      return joins(m, options(1));
    } catch (const UserError&) {
      told.reach();
      throw;
    }
  });
  const auto ends = ranks.wait(10);
  CHECK(ends[1].code == 69);
  CHECK_THAT(ends[1].said, ContainsSubstring("rank 1 ") &&
                               ContainsSubstring("127.0.0.1:" + std::to_string(ranks.port())) &&
                               ContainsSubstring(std::strerror(ECONNREFUSED)));
}

TEST_CASE("another secret or run is kept out, and the others are told who is missing") {
  const bool same_secret = GENERATE(false, true);
  ForkedRanks ranks(
      2, [](const Membership& m) { return joins(m, options(1)); },
      [&](Membership& m) {
        if (m.rank == 1) (same_secret ? m.run_id : m.secret) = "another";
      });
  const auto ends = ranks.wait(15);
  CHECK(ends[0].code == 69);
  CHECK_THAT(ends[0].said, StartsWith("69: rank 1 of 2 ") && ContainsSubstring("127.0.0.1 ") &&
                               ContainsSubstring("secret file"));
  CHECK(ends[1].code == 69);
  CHECK_THAT(ends[1].said, ContainsSubstring("secret files"));
  for (const RankEnd& e : ends) CHECK_THAT(e.said, !ContainsSubstring("5ec7e7"));
}

TEST_CASE(
    "a rank that is killed while others still join is lost, long before the time to join is over") {
  const int victim = GENERATE(0, 1);
  ForkedRanks ranks(3, [&](const Membership& m) {
    if (m.rank == 2) std::this_thread::sleep_for(std::chrono::milliseconds(1500));
    return joins(m, options(m.rank == 2 ? 2 : 60));
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(700));
  ranks.signal(victim, SIGKILL);
  const auto ends = ranks.wait(15);
  const RankEnd& other = ends[1 - victim];
  CHECK(other.code == 82);
  CHECK(other.seconds < 6);
  CHECK_THAT(other.said, StartsWith("82: rank " + std::to_string(victim) + " (") &&
                             ContainsSubstring("joining the run"));
}

TEST_CASE("strays that say nothing, nonsense or too much disturb nobody") {
  ForkedRanks ranks(3, [](const Membership& m) {
    if (m.rank == 1) std::this_thread::sleep_for(std::chrono::milliseconds(800));
    return joins(m, options());
  });
  std::vector<Descriptor> strays;
  const std::string nonsense = "GET / HTTP/1.1\r\nHost: x\r\n\r\n", much(200'000, '\xff'),
                    claim("\x10\0\0\0\x01 sixteen bytes..", 21);
  for (int i = 0; i < 40; ++i) {
    std::string why;
    strays.push_back(
        connect_to("127.0.0.1", ranks.port(), Clock::now() + std::chrono::seconds(1), why));
    const std::string& text = i % 4 == 0 ? nonsense : i % 4 == 1 ? much : claim;
    if (i % 4 != 3)
      ::send(strays.back().get(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  }
  all_say(ranks.wait(15), "joined", 0, 10);
}

TEST_CASE("a port in use is named with what to do, and nothing listens after a run has begun") {
  const Descriptor taken = listen_at("127.0.0.1", 0);
  Membership m{.rank = 0, .world_size = 2, .port = port_of(taken), .run_id = "t", .secret = "s"};
  check_error("dist.joining/port_use_by_another_process", 69,
              user_error_of([&] { Control::join(m, options()); }), Numbers::any);
  m.address = "192.0.2.1";  // of nobody (RFC 5737)
  CHECK_THAT(user_error_of([&] { Control::join(m, options()); }),
             StartsWith("69: cannot listen at 192.0.2.1:"));
}

TEST_CASE("rank 0 waits for its name as long as ranks may join, and then says that none knows it") {
  const std::string nobody(64, 'x');  // longer than a label of a name may be: no server is asked
  const Membership m{.rank = 0, .world_size = 2, .address = nobody, .run_id = "t", .secret = "s"};
  const auto began = Clock::now();
  CHECK_THAT(user_error_of([&] { Control::join(m, options(0.3)); }),
             StartsWith("69: cannot listen at " + nobody) && ContainsSubstring(unknown_name_words));
  CHECK(Clock::now() - began >= std::chrono::milliseconds(300));
}

TEST_CASE("rank 0 opens its port itself where none was given, and closes it when all are there") {
  ForkedRanks ranks(
      2,
      [](const Membership& m) {
        const auto control = Control::join(m, options());
        control->exchange("");
        std::string why;
        const bool listens =
            connect_to(m.address, m.port, Clock::now() + std::chrono::seconds(1), why).is_open();
        control->leave();
        return std::string(listens ? "still listens" : "closed");
      },
      [](Membership& m) {
        m.listener = -1;
        // the test's own listener has the port at 127.0.0.1, and whoever is given it after that may
        // listen there
        m.address = "127.0.0.2";
      });
  all_say(ranks.wait(10), "closed", 0, 8);
}

TEST_CASE("a rank that is none of the run's") {
  check_error("dist.joining/rank_none_run_ranks_counted", 78,
              user_error_of([] { Control::join({.rank = 2, .world_size = 2}, options()); }));
}

}  // namespace joining_test
