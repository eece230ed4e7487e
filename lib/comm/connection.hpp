// Messages over a socket, without ever waiting: what cannot be sent yet is queued, what has arrived
// in part is kept.
#pragma once
#include "comm/clock.hpp"
#include "core/descriptor.hpp"
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace trainx::comm {

enum class MessageKind : std::uint8_t {
  challenge,
  hello,
  welcome,
  identity,
  members,  // joining
  pulse,
  beat,  // each rank to rank 0, and rank 0 to each
  exchange,
  exchanged,
  failure,  // what the run has failed of
  fail,
  leave,
  all_left,
  leave_with,
  heard,
};

struct Message {
  MessageKind kind{};
  std::string payload;
};

/// On the wire: the payload's bytes (u32), the kind (u8), the payload. A connection that broke,
/// ended or sent nonsense is no longer open, and stays so.
class Connection {
 public:
  static constexpr std::size_t header_bytes = sizeof(std::uint32_t) + sizeof(MessageKind);
  /// Payload of somebody unknown, who can make us hold 64 bytes in all; and of ranks.
  static constexpr std::size_t limit_of_strangers = 64 - header_bytes,
                               limit_of_ranks = std::size_t{1} << 30;

  explicit Connection(Descriptor socket = Descriptor()) : socket_(std::move(socket)) {}
  int fd() const { return socket_.get(); }
  bool is_open() const { return socket_.is_open(); }
  void close() { socket_.close(); }
  /// The socket alone, for other use.
  Descriptor release() { return std::move(socket_); }
  /// The largest message that is taken.
  void set_limit(std::size_t bytes) { limit_ = bytes; }

  /// Sends at once as much as the socket takes.
  void put(MessageKind kind, std::string_view payload);
  bool has_unsent() const { return is_open() && !outgoing_.empty(); }
  void flush();
  /// Reads what has arrived. The messages that came before the end are still there after it.
  void receive();
  std::optional<Message> next();

  /// The end of what this side says; the other one's words are still read.
  void end_sending();

 private:
  Descriptor socket_;
  std::size_t limit_ = limit_of_strangers;
  std::string incoming_, outgoing_;
  std::size_t taken_ = 0, sent_ = 0;  // of incoming_ and outgoing_
};

/// Waits for the next message. Nothing: the connection ended, or the time is over.
std::optional<Message> wait_for_message(Connection& connection, Time deadline);
/// Sends what is queued and waits a moment for the other sides to read it and close, so that no
/// word is lost. At most a second.
void part_from(std::span<Connection*> connections);

}  // namespace trainx::comm
