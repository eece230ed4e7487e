#include "comm/control.hpp"
#include "core/files.hpp"
#include "comm/lone_control.hpp"
#include "comm/member.hpp"
#include "comm/socket.hpp"
#include "log/log.hpp"
#include <sys/socket.h>
#include <algorithm>
#include <cerrno>
#include <thread>

namespace trainx::comm {
namespace {

/// Rank 0 is a rank like the others, connected to its own hub.
std::pair<Connection, Connection> connected_pair() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0)
    throw UserError(ExitCode::unavailable, "rank 0 cannot open sockets: " + errno_words(errno));
  return {Connection(Descriptor(ends[0])), Connection(Descriptor(ends[1]))};
}

// A name server of a cluster learns a pod's name when the pod has an address, which may be after
// its processes have started, and may answer for some time what it answered before.
constexpr double naming_seconds = 60;
constexpr auto naming_pause = std::chrono::milliseconds(250);

void wait_for_name(const Membership& membership, double join_seconds) {
  const double limit = std::min(naming_seconds, join_seconds);
  const Time deadline = Clock::now() + seconds(limit);
  for (bool told = false; !is_known(membership.address) && Clock::now() < deadline; told = true) {
    if (!told)
      log::warning(
          "rank 0 cannot resolve its own name " + membership.address + "; it is tried for " +
          std::to_string(static_cast<std::int64_t>(limit)) +
          " s: correct --master-addr or MASTER_ADDR, unless the name is about to be known");
    std::this_thread::sleep_for(naming_pause);
  }
}

Descriptor listener_of(const Membership& membership, double join_seconds) {
  if (membership.listener < 0) {
    wait_for_name(membership, join_seconds);
    return listen_at(membership.address, membership.port);
  }
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
    hub = std::make_unique<Hub>(Rendezvous(listener_of(membership, options.join_seconds),
                                           std::move(of_hub), membership, options.join_seconds),
                                options.hang_seconds);
    own = std::move(mine);
  }
  Joined joined = join_rank_0(membership, identity, options.join_seconds, std::move(own));
  return std::make_unique<Member>(membership, std::move(options), std::move(joined),
                                  std::move(hub));
}

}  // namespace trainx::comm
