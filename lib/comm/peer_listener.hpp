// A port at which ranks arrive, and anybody else: those that prove themselves are handed out, the
// others hold up nobody.
#pragma once
#include "comm/greeting.hpp"
#include <poll.h>
#include <list>
#include <vector>

namespace trainx::comm {

/// One who has proved that he is of the run.
struct Peer {
  Connection connection;
  std::string address;  // as digits
  Caller caller;
};

class PeerListener {
 public:
  /// How long and how many connections are kept that have not proved themselves. The oldest makes
  /// room for a new one: a rank answers at once.
  static constexpr auto time_to_prove = std::chrono::seconds(1);
  static constexpr std::size_t most_unproved = 256;

  PeerListener(Descriptor listener, Greeting greeting)
      : listener_(std::move(listener)), greeting_(std::move(greeting)) {}
  int port() const;
  /// Nobody else is let in.
  void close();

  /// Asks who is at the other end of a connection for a proof; take() hands it out.
  void meet(Descriptor socket, std::string address);
  /// What take() waits for.
  void add_to(std::vector<pollfd>& polled) const;
  Time due() const;  // when the next silent one is sent away
  /// Takes what has arrived, without waiting.
  std::vector<Peer> take();
  /// Address of the last one whose proof was wrong; empty: none.
  const std::string& refused() const { return refused_; }

 private:
  struct Stranger {
    Connection connection;
    std::string address, nonce;
    Time leaves;
  };
  void accept_some();
  bool proves(Stranger& stranger, Caller& caller);

  Descriptor listener_;
  Greeting greeting_;
  std::list<Stranger> strangers_;  // the oldest first
  std::string refused_;
};

}  // namespace trainx::comm
