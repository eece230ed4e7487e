// The network greeting, against who does not know the run's secret.
#include "comm/peer_listener.hpp"
#include "comm/proof.hpp"
#include "fuzz/expect.hpp"
#include "fuzz/targets.hpp"
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <system_error>

namespace trainx::fuzz {
namespace {

using namespace comm;

constexpr std::size_t most_unproved_bytes = 64;

/// What the input's first byte chooses.
enum class Stranger : std::uint8_t {
  noise,     // sends the bytes
  mirror,    // puts what it was asked into a hello
  replayer,  // sends a rank's hello to an earlier challenge, changed by the bytes
  meddler,   // sends on a rank's hello to this challenge, changed by the bytes
};

const Greeting& greeting() {
  static const Greeting made(Membership{.world_size = 3, .run_id = "run", .secret = make_nonce()},
                             "control", 0);
  return made;
}

/// Two ends of a connection, and how much of what one sends the other has taken.
struct Wire {
  Wire() {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0)
      throw std::system_error(errno, std::generic_category(), "socketpair");
    ours = Descriptor(ends[0]);
    theirs = Descriptor(ends[1]);
    watched = Descriptor(::dup(ends[0]));
  }
  void send(std::string_view bytes) {
    const ssize_t n = ::send(theirs.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n > 0) sent += static_cast<std::size_t>(n);
  }
  std::size_t taken() const {
    int left = 0;
    if (::ioctl(watched.get(), FIONREAD, &left) != 0) throw Defect("FIONREAD fails");
    return sent - static_cast<std::size_t>(left);
  }
  std::string heard() const {
    std::string bytes(256, '\0');
    const ssize_t n = ::recv(theirs.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    bytes.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
    return bytes;
  }

  Descriptor ours, theirs, watched;
  std::size_t sent = 0;
};

/// On the wire: what a rank answers to a challenge.
std::string hello_to(std::string_view challenge_on_wire) {
  Wire wire;
  wire.send(challenge_on_wire);
  Connection rank(std::move(wire.ours));
  greet(rank, greeting(), {1, 3}, [](Connection& c) {
    c.receive();
    return c.next();
  });
  return wire.heard();
}

std::string changed(std::string bytes, std::string_view by) {
  for (std::size_t i = 0; i < std::min(bytes.size(), by.size()); ++i)
    bytes[i] = static_cast<char>(bytes[i] ^ by[i]);
  return bytes;
}

std::string said(Stranger who, const std::string& challenge, std::string_view bytes) {
  static const std::string earlier = [] {
    Wire wire;
    PeerListener listener(Descriptor(), greeting());
    listener.meet(std::move(wire.ours), "");
    return hello_to(wire.heard());
  }();
  switch (who) {
    case Stranger::noise: return std::string(bytes);
    case Stranger::mirror: {
      std::string hello(bytes);
      const std::string_view nonce = std::string_view(challenge).substr(Connection::header_bytes);
      const std::size_t at = Connection::header_bytes + sizeof(Caller);
      if (hello.size() >= at + nonce.size()) hello.replace(at, nonce.size(), nonce);
      return hello;
    }
    case Stranger::replayer: return changed(earlier, bytes);
    case Stranger::meddler: return changed(hello_to(challenge), bytes);
  }
  return {};
}

void knock(Stranger who, std::size_t first_piece, std::string_view bytes) {
  Wire wire;
  PeerListener listener(Descriptor(), greeting());
  listener.meet(std::move(wire.ours), "a stranger");
  const std::string challenge = wire.heard();
  require(challenge.size() == Connection::header_bytes + nonce_bytes, "a stranger is asked first");
  const std::string hello = said(who, challenge, bytes);
  const bool unchanged =
      who == Stranger::meddler &&
      std::ranges::all_of(bytes.substr(0, hello.size()), [](char c) { return c == 0; });
  std::size_t let_in = 0;
  first_piece = std::min(first_piece, hello.size());
  wire.send(std::string_view(hello).substr(0, first_piece));
  let_in += listener.take().size();
  wire.send(std::string_view(hello).substr(first_piece));
  ::shutdown(wire.theirs.get(), SHUT_WR);
  // Twice: what came with the end is heard before the end is seen.
  for (int i = 0; i < 2; ++i) let_in += listener.take().size();
  require(let_in == 0 || unchanged, "without the secret nobody is let in");
  require(let_in == 1 || !unchanged, "a rank is let in");
  require(wire.taken() <= most_unproved_bytes, "of a stranger 64 bytes are read");
  std::vector<pollfd> polled;
  listener.add_to(polled);
  require(polled.size() == 1, "who has gone is not kept");
}

/// A rank that reaches somebody else at the address of rank 0.
void reach(std::string_view bytes) {
  Wire wire;
  wire.send(bytes);
  ::shutdown(wire.theirs.get(), SHUT_WR);
  Connection rank(std::move(wire.ours));
  const auto hear = [](Connection& c) { return wait_for_message(c, Clock::now() + seconds(5)); };
  require(!greet(rank, greeting(), {1, 3}, hear),
          "who has not the secret proves nothing to a rank");
  require(wire.taken() <= 2 * most_unproved_bytes, "of a false rank 0 two messages are read");
}

}  // namespace

void fuzz_greeting(Bytes input, const Ways&) {
  if (input.size() < 2) return;
  const auto who = static_cast<unsigned>(input[0]), first_piece = static_cast<unsigned>(input[1]);
  const std::string_view bytes(reinterpret_cast<const char*>(input.data()) + 2, input.size() - 2);
  if (who % 8 == 4) return reach(bytes);
  knock(static_cast<Stranger>(who % 4), first_piece, bytes);
}

}  // namespace trainx::fuzz
