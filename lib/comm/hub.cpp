#include "comm/hub.hpp"
#include <poll.h>
#include <algorithm>
#include <cstdio>

namespace trainx::comm {

Hub::Hub(Rendezvous gathering, double hang_seconds)
    : gathering_(std::move(gathering)), hang_seconds_(hang_seconds), thread_([this] { run(); }) {}

Hub::~Hub() {
  stopping_ = true;
  wake_.wake();
  thread_.join();
}

void Hub::run() {
  try {
    for (Arrival& a : gathering_.run(wake_, stopping_))
      members_.push_back({std::move(a.connection), std::move(a.identity), std::nullopt, false});
    if (members_.empty()) return;
    std::vector<std::string> names;
    for (const Member& m : members_) names.push_back(m.identity.name());
    watch_.emplace(names, hang_seconds_, Clock::now());
    for (Time next_beat = Clock::now(); !stopping_;) {
      if (Clock::now() >= next_beat) {
        beat();
        next_beat = Clock::now() + beat_period;
      }
      for (Member& m : members_) hear(m);
      if (const auto failure = over_ ? std::nullopt : watch_->look(Clock::now())) fail(*failure);
      wait(next_beat);
    }
    std::vector<Connection*> connections;
    for (Member& m : members_) connections.push_back(&m.connection);
    part_from(connections);
  } catch (const std::exception& e) {
    // Nobody is left to tell: all connections are closed, and the ranks, this one too, find rank 0
    // lost.
    std::fprintf(stderr, "trainx: the connections between the ranks ended: %s\n", e.what());
    members_.clear();
  }
}

void Hub::wait(Time until) {
  std::vector<pollfd> polled{{wake_.fd(), POLLIN, 0}};
  for (const Member& m : members_)
    polled.push_back({m.connection.fd(),
                      static_cast<short>(POLLIN | (m.connection.has_unsent() ? POLLOUT : 0)), 0});
  ::poll(polled.data(), polled.size(), poll_ms(until));
}

void Hub::beat() {
  for (Member& m : members_) m.connection.put(MessageKind::beat, watch_->at(0));
}

void Hub::hear(Member& member) {
  if (!member.connection.is_open()) return;
  member.connection.flush();
  member.connection.receive();
  try {
    while (const auto message = member.connection.next()) take(member, *message);
  } catch (const MalformedMessage&) { member.connection.close(); }
  if (!member.connection.is_open() && !over_) fail(watch_->lost(member.identity.rank), &member);
}

void Hub::take(Member& member, const Message& message) {
  ByteReader in(message.payload);
  switch (message.kind) {
    case MessageKind::pulse: {
      Pulse pulse;
      pulse.done = in.integer();
      pulse.waits_for_peers = in.integer() != 0;
      pulse.busy = in.text();
      pulse.at = in.text();
      return watch_->heard(member.identity.rank, std::move(pulse), Clock::now());
    }
    case MessageKind::exchange: member.exchanged = message.payload; return finish_exchange();
    case MessageKind::fail: return fail(read_failure(in));
    case MessageKind::leave_with: {
      const Failure own = read_failure(in);
      fail({ExitCode::peer_lost, member.identity.name() + " ended: " + own.sentence, own.cause},
           &member);
      return member.connection.put(MessageKind::heard, "");
    }
    case MessageKind::leave: member.leaving = true; return finish_leaving();
    default: throw MalformedMessage();
  }
}

void Hub::finish_exchange() {
  if (!std::ranges::all_of(members_, [](const Member& m) { return m.exchanged.has_value(); }))
    return;
  ByteWriter all;
  for (Member& m : members_) {
    all.put(*m.exchanged);
    m.exchanged.reset();
  }
  const std::string payload = all.take();
  for (Member& m : members_) m.connection.put(MessageKind::exchanged, payload);
}

void Hub::finish_leaving() {
  if (over_ || !std::ranges::all_of(members_, &Member::leaving)) return;
  over_ = true;
  for (Member& m : members_) m.connection.put(MessageKind::all_left, "");
}

/// Rank 0 hears it last: it may end at once, and this thread with it.
void Hub::fail(const Failure& failure, const Member* but) {
  if (over_) return;
  over_ = true;
  ByteWriter out;
  write(out, failure);
  const std::string payload = out.take();
  for (auto m = members_.rbegin(); m != members_.rend(); ++m)
    if (&*m != but) m->connection.put(MessageKind::failure, payload);
}

}  // namespace trainx::comm
