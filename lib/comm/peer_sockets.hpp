// Connections of every rank to every other, through which data goes both ways at once.
#pragma once
#include "comm/call.hpp"
#include "comm/peer_listener.hpp"
#include <cstdint>
#include <vector>

namespace trainx::comm {

class PeerSockets {
 public:
  /// What goes to one rank and comes from it in one transfer.
  struct Flow {
    const std::byte* out = nullptr;
    std::byte* in = nullptr;
    std::int64_t out_bytes = 0, in_bytes = 0;
    // sent before the data; expected before it: what comes must be the same
    const Call *says = nullptr, *hears = nullptr;
  };
  /// Called by all ranks; nobody listens any more when it returns. Throws UserError: 69 a rank is
  /// not reached, the run's failure.
  explicit PeerSockets(Control& control);
  /// All flows, by rank; that of the own rank is left out. Neither side waits for the other to
  /// receive before it receives itself. Throws the run's failure.
  void transfer(std::vector<Flow>& flows);

 private:
  // of one flow: bytes that have gone and come, the calls before them included
  struct Ends {
    std::int64_t gone = 0, come = 0;
    Call heard;
  };
  void connect_below(const std::vector<std::string>& ports, Time deadline);
  void accept_above(PeerListener& listener, Time deadline);
  void push(int rank, const Flow& flow, Ends& ends);
  void pull(int rank, const Flow& flow, Ends& ends);
  void wait(const std::vector<Flow>& flows, const std::vector<Ends>& ends);
  /// Greets rank `below` until `deadline`.
  Descriptor reach(int below, int port, Time deadline);
  std::optional<Message> hear(Connection& connection, Time deadline);
  void await_verdict();
  [[noreturn]] void lose(int rank, int error);

  Control& control_;
  std::vector<Descriptor> sockets_;  // by rank; none to oneself
};

}  // namespace trainx::comm
