#include "comm/connection.hpp"
#include <poll.h>
#include <sys/socket.h>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

namespace trainx::comm {
namespace {

constexpr std::size_t read_bytes = std::size_t{64} << 10;

bool would_block(int error) { return error == EAGAIN || error == EWOULDBLOCK; }

}  // namespace

void Connection::put(MessageKind kind, std::string_view payload) {
  if (!is_open()) return;
  const auto size = static_cast<std::uint32_t>(payload.size());
  outgoing_.append(reinterpret_cast<const char*>(&size), sizeof size);
  outgoing_.push_back(static_cast<char>(kind));
  outgoing_.append(payload);
  flush();
}

void Connection::flush() {
  while (is_open() && sent_ < outgoing_.size()) {
    const ssize_t n = ::send(fd(), outgoing_.data() + sent_, outgoing_.size() - sent_,
                             MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n >= 0) {
      sent_ += static_cast<std::size_t>(n);
    } else if (would_block(errno)) {
      return;
    } else if (errno != EINTR) {
      // the other side is gone; receive() still reads what it said before, then closes
      sent_ = outgoing_.size();
    }
  }
  outgoing_.clear();
  sent_ = 0;
}

void Connection::receive() {
  char piece[read_bytes];
  for (;;) {
    const std::size_t held = incoming_.size() - taken_,
                      most = std::min(sizeof piece, limit_ + header_bytes - held);
    if (!is_open() || held >= limit_ + header_bytes) return;
    const ssize_t n = ::recv(fd(), piece, most, MSG_DONTWAIT);
    if (n > 0) {
      incoming_.append(piece, static_cast<std::size_t>(n));
      if (static_cast<std::size_t>(n) < most) return;
    } else if (n < 0 && would_block(errno)) {
      return;
    } else if (n == 0 || errno != EINTR) {
      socket_.close();
    }
  }
}

std::optional<Message> Connection::next() {
  if (incoming_.size() - taken_ < header_bytes) return std::nullopt;
  std::uint32_t size = 0;
  std::memcpy(&size, incoming_.data() + taken_, sizeof size);
  if (size > limit_) {
    socket_.close();
    incoming_.clear();
    taken_ = 0;
    return std::nullopt;
  }
  if (incoming_.size() - taken_ < header_bytes + size) return std::nullopt;
  Message m{static_cast<MessageKind>(incoming_[taken_ + sizeof size]),
            incoming_.substr(taken_ + header_bytes, size)};
  taken_ += header_bytes + size;
  if (taken_ == incoming_.size() || taken_ > read_bytes) {
    incoming_.erase(0, taken_);
    taken_ = 0;
  }
  return m;
}

void Connection::end_sending() {
  if (is_open()) ::shutdown(fd(), SHUT_WR);
}

std::optional<Message> wait_for_message(Connection& connection, Time deadline) {
  for (;;) {
    if (auto message = connection.next()) return message;
    if (!connection.is_open() || Clock::now() >= deadline) return std::nullopt;
    pollfd p{connection.fd(), static_cast<short>(POLLIN | (connection.has_unsent() ? POLLOUT : 0)),
             0};
    ::poll(&p, 1, poll_ms(deadline));
    connection.flush();
    connection.receive();
  }
}

void part_from(std::span<Connection*> connections) {
  const Time flushed = Clock::now() + std::chrono::milliseconds(500),
             closed = flushed + std::chrono::milliseconds(500);
  std::vector<bool> ended(connections.size(), false);
  for (;;) {
    std::vector<pollfd> polled;
    for (std::size_t i = 0; i < connections.size(); ++i) {
      Connection& c = *connections[i];
      if (!c.is_open()) continue;
      c.flush();
      if (!ended[i] && (!c.has_unsent() || Clock::now() >= flushed)) {
        c.end_sending();
        ended[i] = true;
      }
      polled.push_back({c.fd(), static_cast<short>(POLLIN | (ended[i] ? 0 : POLLOUT)), 0});
    }
    if (polled.empty() || Clock::now() >= closed) return;
    ::poll(polled.data(), polled.size(), std::min(poll_ms(closed), 100));
    for (Connection* c : connections) {
      c->receive();
      while (c->next()) {}  // no longer of interest
    }
  }
}

}  // namespace trainx::comm
