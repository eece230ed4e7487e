#include "comm/greeting.hpp"
#include "comm/bytes.hpp"
#include "comm/proof.hpp"
#include <cstring>

namespace trainx::comm {
namespace {

constexpr std::size_t hello_bytes = sizeof(Caller) + nonce_bytes + proof_bytes;
static_assert(hello_bytes <= Connection::limit_of_strangers);

enum class Side { connecting, listener };

std::string proved_text(const Greeting& g, Side side, Caller caller, std::string_view challenge,
                        std::string_view nonce) {
  return ByteWriter()
      .put("trainx greeting 1")
      .put(g.purpose)
      .put(side == Side::connecting ? "connecting" : "listener")
      .put(g.listener_rank)
      .put(caller.rank)
      .put(caller.world_size)
      .put(g.run_id)
      .put(challenge)
      .put(nonce)
      .take();
}

}  // namespace

std::optional<std::string> answer_hello(const Greeting& greeting, std::string_view nonce,
                                        const Message& hello, Caller& caller) {
  const std::string_view payload = hello.payload;
  if (hello.kind != MessageKind::hello || payload.size() != hello_bytes) throw MalformedMessage();
  std::memcpy(&caller, payload.data(), sizeof caller);
  const std::string_view theirs = payload.substr(sizeof caller, nonce_bytes);
  if (!is_proof(payload.substr(sizeof caller + nonce_bytes), greeting.secret,
                proved_text(greeting, Side::connecting, caller, nonce, theirs)))
    return std::nullopt;
  return proof_of(greeting.secret, proved_text(greeting, Side::listener, caller, nonce, theirs));
}

bool greet(Connection& connection, const Greeting& greeting, Caller self, const Hear& hear) {
  const auto challenge = hear(connection);
  if (!challenge || challenge->kind != MessageKind::challenge ||
      challenge->payload.size() != nonce_bytes)
    return false;
  const std::string nonce = make_nonce();
  const auto text = [&](Side side) {
    return proved_text(greeting, side, self, challenge->payload, nonce);
  };
  connection.put(MessageKind::hello,
                 std::string(reinterpret_cast<const char*>(&self), sizeof self) + nonce +
                     proof_of(greeting.secret, text(Side::connecting)));
  const auto welcome = hear(connection);
  if (!welcome || welcome->kind != MessageKind::welcome ||
      !is_proof(welcome->payload, greeting.secret, text(Side::listener)))
    return false;
  connection.set_limit(Connection::limit_of_ranks);
  return true;
}

}  // namespace trainx::comm
