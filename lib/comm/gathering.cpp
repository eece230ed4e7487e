#include "comm/gathering.hpp"
#include "comm/proof.hpp"
#include "comm/roll_call.hpp"
#include "comm/socket.hpp"
#include "comm/watch.hpp"
#include <poll.h>
#include <algorithm>
#include <vector>

namespace trainx::comm {
namespace {

// a rank answers at once; a stray that says nothing is not kept
constexpr auto guest_time = std::chrono::seconds(20);
constexpr std::size_t most_strays = 256;  // beside the ranks
// How long those who have not come yet are waited for once the others are known not to fit
// together, so that they hear the reason too.
constexpr auto latecomers = std::chrono::seconds(3);

}  // namespace

Gathering::Gathering(Descriptor listener, Connection own, const Membership& membership,
                     double join_seconds)
    : listener_(std::move(listener)),
      membership_(membership),
      join_seconds_(join_seconds),
      deadline_(Clock::now() + seconds(join_seconds)) {
  welcome(std::move(own), membership_.address);
}

void Gathering::welcome(Connection connection, const std::string& address) {
  Guest guest{std::move(connection), address, make_nonce(), Clock::now() + guest_time};
  guest.connection.put(MessageKind::challenge, guest.nonce);
  guests_.push_back(std::move(guest));
}

void Gathering::accept_all() {
  for (;;) {
    std::string address;
    Descriptor socket = accept_one(listener_, address);
    if (!socket.is_open()) return;
    welcome(Connection(std::move(socket)), address);
    // One who has been silent for long makes room; the first may be rank 0's own end.
    if (guests_.size() > static_cast<std::size_t>(membership_.world_size) + most_strays)
      guests_.erase(std::next(guests_.begin()));
  }
}

void Gathering::hear(Guest& guest) {
  guest.connection.flush();
  guest.connection.receive();
  const auto message = guest.connection.next();
  if (!message) return;
  try {
    ByteReader in(message->payload);
    const std::string proof = in.text(), nonce = in.text();
    Identity identity = read_identity(in);
    if (message->kind != MessageKind::hello ||
        proof != proof_of(membership_.token, "rank", guest.nonce))
      return guest.connection.close();
    // Who came over the loopback runs beside rank 0, and is reached where rank 0 is.
    identity.address = is_loopback(guest.address) || guest.address.empty() ? membership_.address
                                                                           : guest.address;
    guest.connection.set_limit(Connection::limit_of_ranks);
    guest.connection.put(MessageKind::welcome, proof_of(membership_.token, "rank 0", nonce));
    arrived_.push_back({std::move(guest.connection), std::move(identity)});
    guest.connection = Connection();
  } catch (const MalformedMessage&) { guest.connection.close(); }
}

void Gathering::hear_all() {
  accept_all();
  for (Guest& guest : guests_) {
    hear(guest);
    if (Clock::now() >= guest.leaves) guest.connection.close();
  }
  guests_.remove_if([](const Guest& g) { return !g.connection.is_open(); });
  for (Arrival& a : arrived_) {
    a.connection.flush();
    a.connection.receive();
  }
}

void Gathering::wait(Wake& wake, Time until) {
  std::vector<pollfd> polled{{wake.fd(), POLLIN, 0}, {listener_.get(), POLLIN, 0}};
  for (const Guest& g : guests_) polled.push_back({g.connection.fd(), POLLIN, 0});
  for (const Arrival& a : arrived_)
    polled.push_back({a.connection.fd(),
                      static_cast<short>(POLLIN | (a.connection.has_unsent() ? POLLOUT : 0)), 0});
  ::poll(polled.data(), polled.size(), std::min(poll_ms(until), 1000));
}

std::optional<Failure> Gathering::verdict() {
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
                   membership_.address + ":" + std::to_string(port_of(listener_)));
  return std::nullopt;
}

std::vector<Arrival> Gathering::take_all() {
  arrived_.sort(
      [](const Arrival& a, const Arrival& b) { return a.identity.rank < b.identity.rank; });
  ByteWriter all;
  for (const Arrival& a : arrived_) write(all, a.identity);
  const std::string members = all.take();
  listener_.close();  // nobody else is of the run
  guests_.clear();
  std::vector<Arrival> taken;
  for (Arrival& a : arrived_) {
    a.connection.put(MessageKind::members, members);
    taken.push_back(std::move(a));
  }
  return taken;
}

void Gathering::refuse(const Failure& failure) {
  const std::string payload =
      ByteWriter().put(static_cast<std::int64_t>(failure.code)).put(failure.sentence).take();
  listener_.close();
  guests_.clear();
  std::vector<Connection*> connections;
  for (Arrival& a : arrived_) {
    a.connection.put(MessageKind::failure, payload);
    connections.push_back(&a.connection);
  }
  part_from(connections);
}

std::vector<Arrival> Gathering::run(Wake& wake, const std::atomic<bool>& stopping) {
  while (!stopping) {
    hear_all();
    if (const auto failure = verdict()) {
      refuse(*failure);
      return {};
    }
    if (!differed_ && arrived_.size() == static_cast<std::size_t>(membership_.world_size))
      return take_all();
    wait(wake, differed_ ? std::min(deadline_, *differed_ + latecomers) : deadline_);
  }
  return {};
}

}  // namespace trainx::comm
