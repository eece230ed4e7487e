#include "launch/rank_environment.hpp"
#include "core/error.hpp"
#include <array>

namespace trainx::launch {

std::optional<comm::Membership> membership_of_torchrun(const Environment& environment) {
  // MASTER_ADDR and MASTER_PORT alone are no sign of torchrun: people set them for MPI and Slurm as
  // well.
  static constexpr std::array ranks{"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"};
  static constexpr std::array all{"RANK",        "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE",
                                  "MASTER_ADDR", "MASTER_PORT"};
  bool any = false;
  for (const char* name : ranks) any = any || !environment(name).empty();
  if (!any || !all_set(environment, all, "torchrun")) return std::nullopt;
  const auto count = [&](const char* name) {
    return whole_number(environment, name, 1 << 20, "torchrun");
  };
  comm::Membership m;
  m.rank = count("RANK"), m.world_size = count("WORLD_SIZE");
  m.local_rank = count("LOCAL_RANK"), m.local_world_size = count("LOCAL_WORLD_SIZE");
  check_ranks(m, "RANK, WORLD_SIZE, LOCAL_RANK and LOCAL_WORLD_SIZE");
  m.address = environment("MASTER_ADDR");
  m.port = port_of(environment, "MASTER_PORT");
  // torchrun's agent keeps MASTER_PORT for its own store, for as long as the workers live.
  if (environment("TORCHELASTIC_USE_AGENT_STORE") == "True") ++m.port;
  if (m.port > 65535)
    throw UserError(ExitCode::usage,
                    "MASTER_PORT is 65535, which torchrun's agent holds itself, and trainx takes "
                    "the next; give torchrun a lower --master-port");
  // Agents that do not share their store choose a free port for each start. Then that port tells
  // starts apart: elastic agents count only restarts after failures of their own workers, so that
  // their counts may differ.
  const bool port_is_new = environment("TORCHELASTIC_USE_AGENT_STORE") == "False";
  m.run_id = "torchrun " + environment("TORCHELASTIC_RUN_ID") + " " +
             (port_is_new ? "" : environment("TORCHELASTIC_RESTART_COUNT")) + " " + m.address +
             ":" + std::to_string(m.port);
  m.launcher = "torchrun";
  return m;
}

}  // namespace trainx::launch
