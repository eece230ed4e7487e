#pragma once
#include "context.hpp"
#include "launch/launch_flags.hpp"

namespace trainx::app {

/// `trainx doctor --hosts`: starts this host's ranks, which measure the network together. Returns
/// the exit code. Throws UserError: 2 flags and launcher name one host alone, or none.
int doctor_hosts(const launch::LaunchFlags& flags, const Context& context);

}  // namespace trainx::app
