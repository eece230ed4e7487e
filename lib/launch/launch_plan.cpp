#include "launch/launch_plan.hpp"
#include "core/error.hpp"
#include "launch/pod_environment.hpp"
#include "launch/rank_environment.hpp"
#include <algorithm>

namespace trainx::launch {
namespace {

constexpr int default_port = 29500;  // torchrun's, which firewalls may know

// Flags of several hosts are given all together.
void check_flags(const LaunchFlags& flags, const std::string& command) {
  const auto refuse = [&](const std::string& sentence) {
    throw UserError(ExitCode::usage, command + ": " + sentence);
  };
  if (!flags.nnodes && (flags.node_rank || flags.master_addr || flags.master_port))
    refuse(
        "--node-rank, --master-addr and --master-port say where one of several hosts stands; say "
        "with --nnodes how many there are");
  if (flags.nnodes && *flags.nnodes > 1 && (!flags.node_rank || !flags.master_addr))
    refuse("--nnodes " + std::to_string(*flags.nnodes) +
           " needs --node-rank (this host, from 0) and --master-addr (host 0); trainx is started "
           "once on each host");
  if (flags.nnodes && flags.node_rank && *flags.node_rank >= *flags.nnodes)
    refuse("--node-rank " + std::to_string(*flags.node_rank) + " is none of --nnodes " +
           std::to_string(*flags.nnodes) + "; hosts count from 0");
}

int workers_here(const LaunchFlags& flags, const LaunchRequest& wish, int nodes) {
  if (flags.nproc_per_node && *flags.nproc_per_node != LaunchFlags::automatic)
    return *flags.nproc_per_node;
  const bool recipe_decides = wish.world_size > 0 && !flags.nproc_per_node;
  if (!recipe_decides) return std::max(wish.visible_gpus, 1);
  if (wish.world_size % nodes != 0)
    throw UserError(ExitCode::usage,
                    wish.command + ": the recipe's " + std::to_string(wish.world_size) +
                        " ranks do not divide among --nnodes " + std::to_string(nodes) +
                        "; say with --nproc-per-node how many each host has");
  return wish.world_size / nodes;
}

}  // namespace

comm::Membership LaunchPlan::membership(int i) const {
  comm::Membership m = first;
  m.rank += i;
  m.local_rank += i;
  return m;
}

LaunchPlan decide_membership(const Environment& environment, const LaunchFlags& given_flags,
                             const LaunchRequest& wish) {
  check_flags(given_flags, wish.command);
  const LaunchFlags flags = with_pod_environment(environment, given_flags);
  LaunchPlan plan;
  if (const auto given = membership_from_environment(environment, flags)) {
    plan.first = *given;
    return plan;
  }
  const int nodes = flags.nnodes.value_or(1);
  plan.workers = workers_here(flags, wish, nodes);
  plan.max_restarts = flags.max_restarts.value_or(0);
  auto& m = plan.first;
  m.world_size = plan.workers * nodes;
  m.local_world_size = plan.workers;
  m.launcher = "trainx";
  if (nodes == 1) {  // they meet at a socket that the launcher makes
    if (flags.secret_file)
      throw UserError(ExitCode::usage,
                      wish.command +
                          ": --secret-file has no effect on one host, where ranks get a secret of "
                          "their launch; leave it out");
    return plan;
  }
  m.rank = plan.workers * *flags.node_rank;
  m.address = *flags.master_addr;
  m.port = flags.master_port.value_or(default_port);
  m.run_id = "flags " + m.address + ":" + std::to_string(m.port) + " " + wish.run_name;
  m.launcher = "flags";
  return plan;
}

}  // namespace trainx::launch
