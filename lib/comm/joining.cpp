#include "comm/joining.hpp"
#include "core/error.hpp"
#include "comm/proof.hpp"
#include "comm/socket.hpp"
#include "comm/watch.hpp"
#include <algorithm>
#include <cstdio>
#include <thread>

namespace trainx::comm {
namespace {

constexpr auto first_pause = std::chrono::milliseconds(20),
               longest_pause = std::chrono::milliseconds(500);
// rank 0 says who is missing; only where it is stopped itself does this side's clock end the wait
constexpr double grace_seconds = 10;

/// True where the other side knows the run's token, and so does this one as far as it can tell.
bool introduce(Connection& connection, const Membership& membership, const Identity& identity,
               Time deadline) {
  const auto challenge = wait_for_message(connection, deadline);
  if (!challenge || challenge->kind != MessageKind::challenge) return false;
  const std::string nonce = make_nonce();
  ByteWriter hello;
  hello.put(proof_of(membership.token, "rank", challenge->payload)).put(nonce);
  write(hello, identity);
  connection.put(MessageKind::hello, hello.take());
  const auto welcome = wait_for_message(connection, deadline);
  return welcome && welcome->kind == MessageKind::welcome &&
         welcome->payload == proof_of(membership.token, "rank 0", nonce);
}

[[noreturn]] void not_reached(const Membership& m, double join_seconds, const std::string& why) {
  char time[32];
  std::snprintf(time, sizeof time, "%g", join_seconds);
  throw UserError(ExitCode::unavailable,
                  "rank " + std::to_string(m.rank) + " did not reach rank 0 at " + m.address + ":" +
                      std::to_string(m.port) + " within " + time + " s: " + why +
                      "; see the output of rank 0, and whether that address is reached from here");
}

Connection knock(const Membership& membership, const Identity& identity, double join_seconds) {
  const Time deadline = Clock::now() + seconds(join_seconds);
  std::string why;
  for (auto pause = first_pause;; pause = std::min(pause * 2, longest_pause)) {
    Connection connection(connect_to(membership.address, membership.port, deadline, why));
    if (connection.is_open()) {
      if (introduce(connection, membership, identity, deadline)) return connection;
      why = "what answers there is not rank 0 of this run (it knows another token, or none)";
    }
    if (Clock::now() >= deadline) not_reached(membership, join_seconds, why);
    std::this_thread::sleep_for(std::min<Clock::duration>(pause, deadline - Clock::now()));
  }
}

}  // namespace

Joined join_rank_0(const Membership& membership, const Identity& identity, double join_seconds,
                   Connection own) {
  if (own.is_open() && !introduce(own, membership, identity, Clock::now() + seconds(join_seconds)))
    throw InternalError("rank 0 does not answer itself");
  Joined joined{own.is_open() ? std::move(own) : knock(membership, identity, join_seconds), {}};
  joined.connection.set_limit(Connection::limit_of_ranks);
  const auto message =
      wait_for_message(joined.connection, Clock::now() + seconds(join_seconds + grace_seconds));
  if (!message) {
    if (joined.connection.is_open())
      not_reached(membership, join_seconds, "it answered, and then did not say who the ranks are");
    const Failure lost = lost_failure(
        "rank 0 (at " + membership.address + ":" + std::to_string(membership.port) + ")",
        "joining the run", "");
    throw UserError(lost.code, lost.sentence);
  }
  ByteReader in(message->payload);
  if (message->kind == MessageKind::failure) {
    const auto code = static_cast<ExitCode>(in.integer());
    throw UserError(code, in.text());
  }
  for (int r = 0; r < membership.world_size; ++r) joined.members.push_back(read_identity(in));
  return joined;
}

}  // namespace trainx::comm
