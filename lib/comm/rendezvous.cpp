#include "comm/rendezvous.hpp"
#include "comm/roll_call.hpp"
#include "comm/socket.hpp"
#include "comm/watch.hpp"
#include "log/log.hpp"
#include <poll.h>
#include <algorithm>
#include <vector>

namespace trainx::comm {
namespace {

// How long those who have not come yet are waited for once the others are known not to fit
// together, so that they hear the reason too.
constexpr auto latecomers = std::chrono::seconds(3);
// Ranks of one start come within this, or a quarter of the time to join; who waits longer is told
// for whom.
constexpr double patience_seconds = 10;

}  // namespace

Rendezvous::Rendezvous(Descriptor listener, Connection own, const Membership& membership,
                       double join_seconds)
    : listener_(std::move(listener), Greeting(membership, "control", 0)),
      membership_(membership),
      join_seconds_(join_seconds),
      deadline_(Clock::now() + seconds(join_seconds)) {
  own.set_limit(Connection::limit_of_ranks);
  peers_.push_back({std::move(own), membership_.address, {0, membership_.world_size}});
}

void Rendezvous::hear(Peer& peer) {
  peer.connection.flush();
  peer.connection.receive();
  const auto message = peer.connection.next();
  if (!message) return;
  try {
    ByteReader in(message->payload);
    Identity identity = read_identity(in);
    if (message->kind != MessageKind::identity || identity.rank != peer.caller.rank ||
        identity.world_size != peer.caller.world_size)
      return peer.connection.close();
    // Who came over the loopback runs beside rank 0, and is reached where rank 0 is.
    identity.address = is_loopback(peer.address) ? membership_.address : peer.address;
    arrived_.push_back({std::move(peer.connection), std::move(identity)});
    peer.connection = Connection();
  } catch (const MalformedMessage&) { peer.connection.close(); }
}

void Rendezvous::hear_all() {
  for (Peer& peer : listener_.take()) peers_.push_back(std::move(peer));
  if (const std::string who = listener_.refused(); !who.empty() && !told_of_refusal_) {
    told_of_refusal_ = true;
    log::warning("a process at " + who +
                 " was sent away with a wrong proof; if it is a rank of this run, give all hosts "
                 "the same secret file");
  }
  for (Peer& peer : peers_) hear(peer);
  peers_.remove_if([](const Peer& p) { return !p.connection.is_open(); });
  for (Arrival& a : arrived_) {
    a.connection.flush();
    a.connection.receive();
  }
}

void Rendezvous::wait(Wake& wake, Time until) {
  std::vector<pollfd> polled{{wake.fd(), POLLIN, 0}};
  listener_.add_to(polled);
  for (const Peer& p : peers_)
    polled.push_back({p.connection.fd(),
                      static_cast<short>(POLLIN | (p.connection.has_unsent() ? POLLOUT : 0)), 0});
  for (const Arrival& a : arrived_)
    polled.push_back({a.connection.fd(),
                      static_cast<short>(POLLIN | (a.connection.has_unsent() ? POLLOUT : 0)), 0});
  ::poll(polled.data(), polled.size(), std::min(poll_ms(std::min(until, listener_.due())), 1000));
}

std::optional<Failure> Rendezvous::verdict() {
  const Time now = Clock::now();
  std::vector<Identity> identities;
  for (const Arrival& a : arrived_) identities.push_back(a.identity);
  const bool all = identities.size() >= static_cast<std::size_t>(membership_.world_size);
  if (const auto found = difference(identities)) {
    if (!differed_) differed_ = now;
    if (all || now >= deadline_ || now >= *differed_ + latecomers) return found;
    return std::nullopt;
  }
  for (const Arrival& a : arrived_)
    if (!a.connection.is_open()) return lost_failure(a.identity.name(), "joining the run", "");
  if (!all && now >= deadline_)
    return missing(identities, membership_.world_size, join_seconds_,
                   membership_.address + ":" + std::to_string(listener_.port()),
                   listener_.refused());
  return std::nullopt;
}

void Rendezvous::tell_of_missing() {
  if (told_of_missing_ ||
      Clock::now() < began_ + seconds(std::min(patience_seconds, join_seconds_ / 4)))
    return;
  told_of_missing_ = true;
  std::vector<Identity> identities;
  for (const Arrival& a : arrived_) identities.push_back(a.identity);
  log::warning("rank 0 waits for " + absent_ranks(identities, membership_.world_size) + " of " +
               std::to_string(membership_.world_size) + " at " + membership_.address + ":" +
               std::to_string(listener_.port()) + ", for " +
               std::to_string(static_cast<std::int64_t>(join_seconds_)) +
               " s in all: start them, or see their output");
}

std::vector<Arrival> Rendezvous::take_all() {
  arrived_.sort(
      [](const Arrival& a, const Arrival& b) { return a.identity.rank < b.identity.rank; });
  ByteWriter all;
  for (const Arrival& a : arrived_) write(all, a.identity);
  const std::string members = all.take();
  listener_.close();  // nobody else is of the run
  peers_.clear();
  std::vector<Arrival> taken;
  for (Arrival& a : arrived_) {
    a.connection.put(MessageKind::members, members);
    taken.push_back(std::move(a));
  }
  return taken;
}

void Rendezvous::refuse(const Failure& failure) {
  ByteWriter out;
  write(out, failure);
  const std::string payload = out.take();
  listener_.close();
  peers_.clear();
  std::vector<Connection*> connections;
  for (Arrival& a : arrived_) {
    a.connection.put(MessageKind::failure, payload);
    connections.push_back(&a.connection);
  }
  part_from(connections);
}

std::vector<Arrival> Rendezvous::run(Wake& wake, const std::atomic<bool>& stopping) {
  while (!stopping) {
    hear_all();
    if (const auto failure = verdict()) {
      refuse(*failure);
      return {};
    }
    if (!differed_ && arrived_.size() == static_cast<std::size_t>(membership_.world_size))
      return take_all();
    tell_of_missing();
    wait(wake, differed_ ? std::min(deadline_, *differed_ + latecomers) : deadline_);
  }
  return {};
}

}  // namespace trainx::comm
