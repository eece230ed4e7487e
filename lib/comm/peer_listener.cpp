#include "comm/peer_listener.hpp"
#include "comm/bytes.hpp"
#include "comm/proof.hpp"
#include "comm/socket.hpp"
#include <cerrno>

namespace trainx::comm {
namespace {

constexpr int accepted_at_once = 64;  // then those who are there are heard

}  // namespace

int PeerListener::port() const { return port_of(listener_); }

void PeerListener::close() {
  listener_.close();
  strangers_.clear();
}

void PeerListener::add_to(std::vector<pollfd>& polled) const {
  polled.push_back({listener_.get(), POLLIN, 0});
  for (const Stranger& s : strangers_) polled.push_back({s.connection.fd(), POLLIN, 0});
}

Time PeerListener::due() const {
  return strangers_.empty() ? Time::max() : strangers_.front().leaves;
}

void PeerListener::accept_some() {
  for (int i = 0; i < accepted_at_once; ++i) {
    std::string address;
    Descriptor socket = accept_one(listener_, address);
    const bool no_descriptor = !socket.is_open() && (errno == EMFILE || errno == ENFILE);
    if (!strangers_.empty() && (no_descriptor || strangers_.size() >= most_unproved))
      strangers_.pop_front();
    if (!socket.is_open()) return;
    meet(std::move(socket), std::move(address));
  }
}

void PeerListener::meet(Descriptor socket, std::string address) {
  Stranger& s = strangers_.emplace_back(Stranger{Connection(std::move(socket)), std::move(address),
                                                 make_nonce(), Clock::now() + time_to_prove});
  s.connection.put(MessageKind::challenge, s.nonce);
}

/// A stranger that cannot is no longer connected.
bool PeerListener::proves(Stranger& s, Caller& caller) {
  s.connection.flush();
  s.connection.receive();
  const auto hello = s.connection.next();
  if (!hello) {
    if (Clock::now() >= s.leaves) s.connection.close();
    return false;
  }
  try {
    if (const auto welcome = answer_hello(greeting_, s.nonce, *hello, caller)) {
      s.connection.set_limit(Connection::limit_of_ranks);
      s.connection.put(MessageKind::welcome, *welcome);
      return true;
    }
    refused_ = s.address;
  } catch (const MalformedMessage&) {}  // of something else than a rank
  s.connection.close();
  return false;
}

std::vector<Peer> PeerListener::take() {
  accept_some();
  std::vector<Peer> peers;
  for (Stranger& s : strangers_)
    if (Caller caller; proves(s, caller))
      peers.push_back({std::move(s.connection), std::move(s.address), caller});
  strangers_.remove_if([](const Stranger& s) { return !s.connection.is_open(); });
  return peers;
}

}  // namespace trainx::comm
