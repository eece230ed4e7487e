#include "comm/joining.hpp"
#include "core/error.hpp"
#include "comm/failed_elsewhere.hpp"
#include "comm/greeting.hpp"
#include "comm/socket.hpp"
#include "comm/watch.hpp"
#include "log/log.hpp"
#include <algorithm>
#include <cstdio>
#include <thread>

namespace trainx::comm {
namespace {

constexpr auto first_pause = std::chrono::milliseconds(20),
               longest_pause = std::chrono::milliseconds(500);
// rank 0 says who is missing; only where it is stopped itself does this side's clock end the wait
constexpr double grace_seconds = 10;
// rank 0 may send this rank away among many strangers; only then is anything told
constexpr int refusals_to_tell = 3;
// rank 0 of the same start listens within this; who waits longer is told for what
constexpr double joining_patience_seconds = 10;
// for each of rank 0's messages; it may still be loading what the kernel already connects to
constexpr auto answer_time = std::chrono::seconds(10);

[[noreturn]] void not_reached(const Membership& m, double join_seconds, const std::string& why) {
  char time[32];
  std::snprintf(time, sizeof time, "%g", join_seconds);
  throw UserError(ExitCode::unavailable,
                  "rank " + std::to_string(m.rank) + " did not reach rank 0 at " + m.address + ":" +
                      std::to_string(m.port) + " within " + time + " s: " + why +
                      "; see the output of rank 0, and whether that address is reached from here");
}

Connection knock(const Membership& membership, double join_seconds) {
  const Time deadline = Clock::now() + seconds(join_seconds);
  const Greeting greeting(membership, "control", 0);
  const auto hear = [&](Connection& connection) {
    return wait_for_message(connection, std::min<Time>(deadline, Clock::now() + answer_time));
  };
  // unproved: stays the reason where rank 0 has given up first, and its port is closed
  std::string why, unproved;
  int refusals = 0;
  bool told = false;
  const Time patience_ends = Clock::now() +
                             seconds(std::min(joining_patience_seconds, join_seconds / 4));
  for (auto pause = first_pause;; pause = std::min(pause * 2, longest_pause)) {
    Connection connection(connect_to(membership.address, membership.port, deadline, why));
    if (connection.is_open()) {
      if (greet(connection, greeting, {membership.rank, membership.world_size}, hear))
        return connection;
      unproved =
          "what answers there does not prove that it is rank 0 of this run: the secret files of "
          "the hosts differ, or another program has the port";
      if (++refusals == refusals_to_tell)
        log::warning("rank " + std::to_string(membership.rank) + ": " + membership.address + ":" +
                     std::to_string(membership.port) + ": " + unproved + "; it is tried again");
    }
    const bool unknown_name = !connection.is_open() && why.starts_with(unknown_name_words);
    if (!told && unproved.empty() && (unknown_name || Clock::now() >= patience_ends)) {
      told = true;
      log::warning("rank " + std::to_string(membership.rank) + " does not reach rank 0 at " +
                   membership.address + ":" + std::to_string(membership.port) + ": " + why +
                   "; it is tried for " + std::to_string(static_cast<std::int64_t>(join_seconds)) +
                   " s: correct MASTER_ADDR, or start rank 0");
    }
    if (Clock::now() >= deadline)
      not_reached(membership, join_seconds, unproved.empty() ? why : unproved);
    std::this_thread::sleep_for(std::min<Clock::duration>(pause, deadline - Clock::now()));
  }
}

}  // namespace

Joined join_rank_0(const Membership& membership, const Identity& identity, double join_seconds,
                   Connection own) {
  Joined joined{own.is_open() ? std::move(own) : knock(membership, join_seconds), {}};
  joined.connection.set_limit(Connection::limit_of_ranks);
  ByteWriter said;
  write(said, identity);
  joined.connection.put(MessageKind::identity, said.take());
  const auto message =
      wait_for_message(joined.connection, Clock::now() + seconds(join_seconds + grace_seconds));
  if (!message) {
    if (joined.connection.is_open())
      not_reached(membership, join_seconds, "it answered, and then did not say who the ranks are");
    const Failure lost = lost_failure(
        "rank 0 (at " + membership.address + ":" + std::to_string(membership.port) + ")",
        "joining the run", "");
    throw FailedElsewhere(lost);
  }
  ByteReader in(message->payload);
  if (message->kind == MessageKind::failure) throw FailedElsewhere(read_failure(in));
  for (int r = 0; r < membership.world_size; ++r) joined.members.push_back(read_identity(in));
  return joined;
}

}  // namespace trainx::comm
