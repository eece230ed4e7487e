#include "comm/control.hpp"
#include "core/files.hpp"
#include "comm/lone_control.hpp"
#include "comm/member.hpp"
#include "comm/socket.hpp"
#include <sys/socket.h>
#include <cerrno>

namespace trainx::comm {
namespace {

/// Rank 0 is a rank like the others, connected to its own hub.
std::pair<Connection, Connection> connected_pair() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0)
    throw UserError(ExitCode::unavailable, "rank 0 cannot open sockets: " + errno_words(errno));
  return {Connection(Descriptor(ends[0])), Connection(Descriptor(ends[1]))};
}

Descriptor listener_of(const Membership& membership) {
  if (membership.listener < 0) return listen_at(membership.address, membership.port);
  Descriptor listener(membership.listener);
  adopt(listener);
  return listener;
}

}  // namespace

std::unique_ptr<Control> Control::join(const Membership& membership, ControlOptions options) {
  if (membership.world_size == 1 && membership.rank == 0)
    return std::make_unique<LoneControl>(membership);
  if (membership.rank < 0 || membership.rank >= membership.world_size)
    throw UserError(ExitCode::invalid_recipe,
                    "rank " + std::to_string(membership.rank) + " is none of a run of " +
                        std::to_string(membership.world_size) + " ranks, which are counted from 0");
  const Identity identity = own_identity(membership, options.device, options.equal_on_all);
  std::unique_ptr<Hub> hub;
  Connection own;
  if (membership.rank == 0) {
    auto [mine, of_hub] = connected_pair();
    hub = std::make_unique<Hub>(
        Rendezvous(listener_of(membership), std::move(of_hub), membership, options.join_seconds),
        options.hang_seconds);
    own = std::move(mine);
  }
  Joined joined = join_rank_0(membership, identity, options.join_seconds, std::move(own));
  return std::make_unique<Member>(membership, std::move(options), std::move(joined),
                                  std::move(hub));
}

}  // namespace trainx::comm
