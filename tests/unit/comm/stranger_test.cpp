// Who does not know the run's secret: at a rank's port, and in rank 0's place.
#include "comm/bytes.hpp"
#include "comm/control.hpp"
#include "comm/peer_listener.hpp"
#include "comm/proof.hpp"
#include "support/catch.hpp"
#include "support/forked_ranks.hpp"
#include <sys/socket.h>
#include <random>
#include <thread>

namespace stranger_test {

using namespace trainx;
using namespace trainx::comm;

namespace {

constexpr auto patience = std::chrono::seconds(10);

Membership a_run() { return {.world_size = 3, .run_id = "a run", .secret = "its secret"}; }
Greeting greeting_of(const Membership& m) { return {m, "data", 1}; }

Descriptor connect_here(int port) {
  std::string why;
  Descriptor socket = connect_to("127.0.0.1", port, Clock::now() + patience, why);
  REQUIRE(socket.is_open());
  return socket;
}

/// A listener, and the connections to it, in one thread.
struct Door {
  explicit Door(const Membership& m = a_run())
      : listener(listen_at("127.0.0.1", 0), greeting_of(m)) {}

  PeerListener listener;
  std::vector<Peer> peers;

  Connection knock() { return Connection(connect_here(listener.port())); }
  /// What the listener says next; nothing: it has closed the connection.
  std::optional<Message> hear(Connection& connection) {
    for (const Time end = Clock::now() + patience; Clock::now() < end;) {
      for (Peer& p : listener.take()) peers.push_back(std::move(p));
      connection.flush();
      connection.receive();
      auto message = connection.next();
      if (message || !connection.is_open()) return message;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    FAIL("the listener neither answers nor closes");
    return std::nullopt;
  }
  bool greets(const Greeting& greeting, Caller self) {
    Connection connection = knock();
    return greet(connection, greeting, self, [&](Connection& c) { return hear(c); });
  }
  /// Answers a challenge by `hello`.
  std::optional<Message> answer_to(const std::string& hello) {
    Connection connection = knock();
    REQUIRE(hear(connection));
    connection.put(MessageKind::hello, hello);
    return hear(connection);
  }
  std::size_t strangers() const {
    std::vector<pollfd> polled;
    listener.add_to(polled);
    return polled.size() - 1;
  }
};

/// A right answer to this challenge.
std::string hello_to(const std::string& challenge, Caller self) {
  int ends[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0);
  Connection own{Descriptor(ends[0])}, other{Descriptor(ends[1])};
  other.put(MessageKind::challenge, challenge);
  greet(own, greeting_of(a_run()), self, [](Connection& c) {
    c.receive();
    return c.next();
  });
  other.receive();
  const auto hello = other.next();
  REQUIRE(hello);
  return hello->payload;
}

}  // namespace

TEST_CASE("a rank proves itself, and the listener to it") {
  Door door;
  CHECK(door.greets(greeting_of(a_run()), {2, 3}));
  REQUIRE(door.peers.size() == 1);
  CHECK(door.peers[0].caller.rank == 2);
  CHECK(door.peers[0].caller.world_size == 3);
  CHECK(door.peers[0].address == "127.0.0.1");
  CHECK(door.listener.refused().empty());
}

TEST_CASE("who knows the run and not its secret, or proves something else, is not let in") {
  Door door;
  Membership other = a_run();
  const int what = GENERATE(0, 1, 2, 3);
  if (what == 0) other.secret = "a guess";
  if (what == 1) other.secret = "";
  if (what == 2) other.run_id = "another run";
  Greeting greeting = greeting_of(other);
  if (what == 3) greeting.purpose = "control";
  CHECK_FALSE(door.greets(greeting, {2, 3}));
  greeting = greeting_of(a_run());
  greeting.listener_rank = 0;
  CHECK_FALSE(door.greets(greeting, {2, 3}));
  CHECK(door.peers.empty());
  CHECK(door.listener.refused() == "127.0.0.1");
}

TEST_CASE("without a secret nobody is let in") {
  Membership none = a_run();
  none.secret = "";
  Door door(none);
  CHECK_FALSE(door.greets(greeting_of(none), {2, 3}));
  CHECK(door.peers.empty());
  CHECK_FALSE(is_proof(proof_of("", "text"), "", "text"));
  CHECK(is_proof(proof_of("s", "text"), "s", "text"));
}

TEST_CASE("HMAC-SHA256 is that of RFC 4231, test case 2") {
  const std::string mac = proof_of("Jefe", "what do ya want for nothing?");
  CHECK(mac.substr(0, 4) == "\x5b\xdc\xc1\x46");
  CHECK(mac.substr(28) == "\x64\xec\x38\x43");
}

TEST_CASE("a recorded greeting, and one with any byte changed, proves nothing") {
  Door door;
  Connection connection = door.knock();
  const auto challenge = door.hear(connection);
  REQUIRE(challenge);
  const std::string hello = hello_to(challenge->payload, {2, 3});
  connection.put(MessageKind::hello, hello);
  const auto welcome = door.hear(connection);
  REQUIRE(welcome);
  CHECK(door.peers.size() == 1);
  CHECK_FALSE(door.answer_to(hello));             // replayed
  CHECK_FALSE(door.answer_to(welcome->payload));  // of another length
  for (std::size_t i = 0; i < hello.size(); ++i) {
    Connection next = door.knock();
    const auto asked = door.hear(next);
    REQUIRE(asked);
    std::string changed = hello_to(asked->payload, {2, 3});
    changed[i] = static_cast<char>(changed[i] ^ 1);
    next.put(MessageKind::hello, changed);
    CHECK_FALSE(door.hear(next));
  }
  CHECK(door.peers.size() == 1);
}

TEST_CASE("strangers are few, and none holds up a rank") {
  Door door;
  std::vector<Descriptor> silent;
  for (int i = 0; i < 300; ++i) silent.push_back(connect_here(door.listener.port()));
  CHECK(door.greets(greeting_of(a_run()), {2, 3}));
  CHECK(door.strangers() <= PeerListener::most_unproved);
  std::this_thread::sleep_until(Clock::now() + PeerListener::time_to_prove);
  door.listener.take();
  CHECK(door.strangers() == 0);
  char byte = 0;
  for (const Descriptor& s : silent) {
    while (::recv(s.get(), &byte, 1, MSG_DONTWAIT) > 0) continue;
    CHECK(::recv(s.get(), &byte, 1, MSG_DONTWAIT) == 0);  // closed
  }
}

TEST_CASE("a stranger's bytes are not kept") {
  Door door;
  const std::uint64_t seed = std::random_device{}();
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  for (int i = 0; i < 50; ++i) {
    Connection connection = door.knock();
    REQUIRE(door.hear(connection));
    std::string noise(1 + random() % 100'000, '\0');
    for (char& c : noise) c = static_cast<char>(random());
    if (i % 2 == 0) noise[3] = '\x7f';  // as a length: 2 GiB
    ::send(connection.fd(), noise.data(), noise.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    CHECK_FALSE(door.hear(connection));
  }
  CHECK(door.peers.empty());
}

TEST_CASE("200 silent strangers and others that send noise do not keep ranks from meeting") {
  ForkedRanks ranks(3, [](const Membership& m) {
    if (m.rank > 0) std::this_thread::sleep_for(std::chrono::milliseconds(200));
    const auto control = Control::join(m, {.equal_on_all = {}, .device = {}, .join_seconds = 20});
    control->exchange("");
    control->leave();
    return std::string("left");
  });
  std::vector<Descriptor> strangers;
  for (int i = 0; i < 230; ++i) {
    strangers.push_back(connect_here(ranks.port()));
    const std::string noise(static_cast<std::size_t>(i), '\xff');
    if (i >= 200) ::send(strangers.back().get(), noise.data(), noise.size(), MSG_NOSIGNAL);
  }
  for (const RankEnd& end : ranks.wait(30)) CHECK(end.said == "left");
}

TEST_CASE("a false rank 0 ends nobody with its words") {
  const int lie = GENERATE(0, 1, 2, 3);
  const std::string failure =
      ByteWriter().put(std::int64_t{0}).put("all is well, trained 10 steps").take();
  ForkedRanks ranks(2, [&](const Membership& m) {
    if (m.rank == 1) {
      Control::join(m, {.equal_on_all = {}, .device = {}, .join_seconds = 1});
      return std::string("joined");
    }
    const Descriptor listener(m.listener);
    adopt(listener);
    for (const Time end = Clock::now() + std::chrono::seconds(2); Clock::now() < end;) {
      std::string address;
      Connection connection(accept_one(listener, address));
      if (!connection.is_open()) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        continue;
      }
      if (lie == 0) connection.put(MessageKind::failure, failure);
      connection.put(MessageKind::challenge, make_nonce());
      const auto hello = wait_for_message(connection, end);
      if (!hello) continue;
      // a guess; the rank's own proof sent back; nothing
      if (lie == 1) connection.put(MessageKind::welcome, std::string(proof_bytes, 'x'));
      if (lie == 2)
        connection.put(MessageKind::welcome,
                       hello->payload.substr(hello->payload.size() - proof_bytes));
      connection.put(MessageKind::failure, failure);
    }
    return std::string();
  });
  const auto ends = ranks.wait(20);
  CHECK(ends[1].code == 69);
  CHECK_THAT(ends[1].said, !ContainsSubstring("all is well"));
}

}  // namespace stranger_test
