#include "comm/peer_sockets.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "comm/bytes.hpp"
#include "comm/socket.hpp"
#include "comm/waits.hpp"
#include <poll.h>
#include <sys/socket.h>
#include <algorithm>
#include <cerrno>
#include <thread>

namespace trainx::comm {
namespace {

constexpr auto connecting_time = std::chrono::seconds(60), verdict_time = std::chrono::seconds(2);
constexpr auto call_bytes = static_cast<std::int64_t>(sizeof(Call));

std::int64_t bytes_out(const PeerSockets::Flow& f) {
  return f.out_bytes + (f.says ? call_bytes : 0);
}
std::int64_t bytes_in(const PeerSockets::Flow& f) {
  return f.in_bytes + (f.hears ? call_bytes : 0);
}

}  // namespace

/// A connection ended: Control knows, or is about to hear, why.
void PeerSockets::await_verdict() {
  for (const Time given_up = Clock::now() + verdict_time; Clock::now() < given_up;
       std::this_thread::sleep_for(std::chrono::milliseconds(5)))
    control_.throw_failure();
}

std::optional<Message> PeerSockets::hear(Connection& connection, Time deadline) {
  for (;;) {
    control_.throw_failure();
    auto message = wait_for_message(
        connection, std::min<Time>(deadline, Clock::now() + std::chrono::milliseconds(100)));
    if (message || !connection.is_open() || Clock::now() >= deadline) return message;
  }
}

/// Each rank connects to those below it. Who is connected to is told before who connects, so no
/// pair waits for each other.
PeerSockets::PeerSockets(Control& control)
    : control_(control), sockets_(static_cast<std::size_t>(control.world_size())) {
  const WaitsForPeers waits(control_.progress());
  std::string problem;
  Descriptor listener;
  try {
    listener = listen_at(control.addresses()[control.rank()], 0);
  } catch (const UserError& e) { problem = e.what(); }
  std::vector<std::string> ports =
      control.exchange(problem.empty() ? std::to_string(port_of(listener)) : "! " + problem);
  for (int r = 0; r < control.world_size(); ++r)
    if (ports[r].starts_with("! "))
      throw UserError(ExitCode::unavailable, control.name_of(r) + " " + ports[r].substr(2));
  const Time deadline = Clock::now() + connecting_time;
  connect_below(ports, deadline);
  PeerListener peers(std::move(listener), Greeting(control.membership(), "data", control.rank()));
  accept_above(peers, deadline);
  control.exchange("");  // nobody sends data while a greeting may still be read
}

Descriptor PeerSockets::reach(int below, int port, Time deadline) {
  const std::string& address = control_.addresses()[below];
  const Greeting greeting(control_.membership(), "data", below);
  std::string why = "it does not answer";
  for (; Clock::now() < deadline; std::this_thread::sleep_for(std::chrono::milliseconds(50))) {
    Connection connection(connect_to(address, port, deadline, why));
    if (!connection.is_open()) break;
    // greeted again: among many strangers rank `below` may have sent this rank away
    if (greet(connection, greeting, {control_.rank(), control_.world_size()},
              [&](Connection& c) { return hear(c, deadline); }))
      return connection.release();
  }
  await_verdict();
  throw UserError(ExitCode::unavailable, control_.name_of(control_.rank()) + " does not reach " +
                                             control_.name_of(below) + " at " + address + ":" +
                                             std::to_string(port) + ": " + why +
                                             "; see whether a firewall is between the hosts");
}

void PeerSockets::connect_below(const std::vector<std::string>& ports, Time deadline) {
  for (int r = 0; r < control_.rank(); ++r) sockets_[r] = reach(r, std::stoi(ports[r]), deadline);
}

void PeerSockets::accept_above(PeerListener& listener, Time deadline) {
  for (int missing = control_.world_size() - 1 - control_.rank(); missing > 0;) {
    std::vector<pollfd> polled;
    listener.add_to(polled);
    ::poll(polled.data(), polled.size(), std::min(poll_ms(deadline), 100));
    control_.throw_failure();
    for (Peer& peer : listener.take()) {
      const Caller c = peer.caller;
      if (c.world_size != control_.world_size() || c.rank <= control_.rank() ||
          c.rank >= c.world_size || sockets_[c.rank].is_open())
        continue;
      sockets_[c.rank] = peer.connection.release();
      --missing;
    }
    if (missing > 0 && Clock::now() >= deadline)
      throw UserError(ExitCode::unavailable, "not all ranks reach " +
                                                 control_.name_of(control_.rank()) + " at " +
                                                 control_.addresses()[control_.rank()] +
                                                 "; see whether a firewall is between the hosts");
  }
}

void PeerSockets::transfer(std::vector<Flow>& flows) {
  if (control_.failed()) control_.throw_failure();
  std::vector<Ends> ends(flows.size());
  for (;;) {
    bool done = true;
    for (int r = 0; r < control_.world_size(); ++r) {
      if (r == control_.rank()) continue;
      push(r, flows[r], ends[r]);
      pull(r, flows[r], ends[r]);
      done = done && ends[r].gone == bytes_out(flows[r]) && ends[r].come == bytes_in(flows[r]);
    }
    if (done) return;
    wait(flows, ends);
  }
}

void PeerSockets::push(int rank, const Flow& f, Ends& e) {
  while (e.gone < bytes_out(f)) {
    const std::int64_t before = f.says ? call_bytes : 0,
                       of_call = std::max<std::int64_t>(0, before - e.gone),
                       of_data = std::max<std::int64_t>(0, e.gone - before);
    iovec pieces[2] = {
        {const_cast<std::byte*>(reinterpret_cast<const std::byte*>(f.says)) + (before - of_call),
         static_cast<std::size_t>(of_call)},
        {const_cast<std::byte*>(f.out) + of_data, static_cast<std::size_t>(f.out_bytes - of_data)}};
    msghdr message{};
    message.msg_iov = of_call ? pieces : pieces + 1;
    message.msg_iovlen = of_call ? 2 : 1;
    const ssize_t n = ::sendmsg(sockets_[rank].get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n > 0)
      e.gone += n;
    else if (errno == EAGAIN || errno == EWOULDBLOCK)
      return;
    else if (errno != EINTR)
      lose(rank, errno);
  }
}

void PeerSockets::pull(int rank, const Flow& f, Ends& e) {
  while (e.come < bytes_in(f)) {
    const std::int64_t before = f.hears ? call_bytes : 0;
    const bool of_call = e.come < before;
    std::byte* to = of_call ? reinterpret_cast<std::byte*>(&e.heard) + e.come
                            : f.in + (e.come - before);
    const ssize_t n = ::recv(sockets_[rank].get(), to,
                             static_cast<std::size_t>((of_call ? before : bytes_in(f)) - e.come),
                             MSG_DONTWAIT);
    if (n == 0) lose(rank, 0);
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (n < 0 && errno != EINTR) lose(rank, errno);
    if (n > 0) e.come += n;
    if (!of_call || e.come < before) continue;
    if (f.hears->kind == CallKind::recv)
      check_received(control_, control_.rank(), f.hears->bytes, rank, e.heard);
    else
      check_same(control_, control_.rank(), *f.hears, rank, e.heard);
  }
}

void PeerSockets::wait(const std::vector<Flow>& flows, const std::vector<Ends>& ends) {
  const WaitsForPeers waits(control_.progress());
  std::vector<pollfd> polled;
  for (int r = 0; r < control_.world_size(); ++r) {
    const short events = static_cast<short>((ends[r].gone < bytes_out(flows[r]) ? POLLOUT : 0) |
                                            (ends[r].come < bytes_in(flows[r]) ? POLLIN : 0));
    if (r != control_.rank() && events) polled.push_back({sockets_[r].get(), events, 0});
  }
  // bytes moved: a large transfer over a slow network is no hang
  if (::poll(polled.data(), polled.size(), 50) > 0) ++control_.progress().done;
  if (control_.failed()) control_.throw_failure();
}

void PeerSockets::lose(int rank, int error) {
  await_verdict();
  control_.fail(ExitCode::peer_lost, "the connection between " + control_.name_of(control_.rank()) +
                                         " and " + control_.name_of(rank) + " broke" +
                                         (error ? ": " + errno_words(error) : "") +
                                         "; see the network between their hosts, and run the same "
                                         "command again to go on from the newest checkpoint");
  control_.throw_failure();
  throw InternalError("PeerSockets: a failure that was told is not thrown");
}

}  // namespace trainx::comm
