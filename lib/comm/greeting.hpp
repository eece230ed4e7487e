// How two ranks prove to each other that they are of one run, before anything else is read:
//   listener    challenge: nonce
//   connecting  hello:     rank, world size, nonce, proof
//   listener    welcome:   proof
// Each proof covers both nonces, rank, world size and run, so that a recorded one proves nothing.
#pragma once
#include "comm/connection.hpp"
#include "comm/membership.hpp"
#include <functional>

namespace trainx::comm {

/// What both sides know before they meet.
struct Greeting {
  std::string secret, run_id;
  std::string purpose;  // "control", "data": a proof for one is none for the other
  int listener_rank = 0;

  Greeting(const Membership& membership, std::string for_what, int of_listener)
      : secret(membership.secret),
        run_id(membership.run_id),
        purpose(std::move(for_what)),
        listener_rank(of_listener) {}
};

/// Who connects, as it says; true once proved.
struct Caller {
  std::int32_t rank = 0, world_size = 0;
};

/// The listener's answer to a hello after the challenge `nonce`: the welcome's payload. Nothing
/// where the proof is wrong. Throws MalformedMessage.
std::optional<std::string> answer_hello(const Greeting& greeting, std::string_view nonce,
                                        const Message& hello, Caller& caller);

/// Waits for the next message of a connection.
using Hear = std::function<std::optional<Message>(Connection&)>;
/// The connecting side's part. True where both sides have proved themselves.
bool greet(Connection& connection, const Greeting& greeting, Caller self, const Hear& hear);

}  // namespace trainx::comm
