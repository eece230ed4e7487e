// torchrun reads an option from PET_<OPTION> if the command line does not have it. A TrainJob has a
// pod for each host, and its controller sets the options that place a pod among the others. trainx
// starts the workers of a pod itself, so that no torchrun is needed there.
#include "launch/pod_environment.hpp"
#include "core/error.hpp"
#include "core/number.hpp"
#include <algorithm>
#include <cctype>
#include <vector>

namespace trainx::launch {
namespace {

const std::string pod = "a TrainJob";
constexpr std::size_t longest_host = 253;  // characters of a DNS name

[[noreturn]] void refuse_variable(const Environment& environment, const char* name,
                                  const std::string& what) {
  throw UserError(ExitCode::usage, std::string(name) + " is '" + environment(name) + "', " + what);
}

int count_in(const Environment& environment, const char* name, int least, int most) {
  const auto n = parse_integer(environment(name));
  if (!n || *n < least || *n > most)
    refuse_variable(environment, name,
                    "not a whole number from " + std::to_string(least) + " to " +
                        std::to_string(most) + "; " + pod +
                        " sets it: unset it where trainx is started otherwise");
  return static_cast<int>(*n);
}

int hosts_in(const Environment& environment) {
  if (environment("PET_NNODES").find(':') != std::string::npos)
    refuse_variable(environment, "PET_NNODES",
                    "a range of hosts, and trainx starts on a fixed number; set that number (" +
                        pod + ": spec.trainer.numNodes), or let torchrun start trainx");
  return count_in(environment, "PET_NNODES", 1, LaunchFlags::most_hosts);
}

int workers_in(const Environment& environment) {
  const std::string text = environment("PET_NPROC_PER_NODE");
  if (text == "auto" || text == "gpu") return LaunchFlags::automatic;
  const auto n = parse_integer(text);
  if (!n || *n < 1 || *n > LaunchFlags::most_workers)
    refuse_variable(environment, "PET_NPROC_PER_NODE",
                    "not auto, gpu or a whole number from 1 to " +
                        std::to_string(LaunchFlags::most_workers) + "; set one of these (" + pod +
                        ": spec.trainer.numProcPerNode)");
  return static_cast<int>(*n);
}

std::string host_in(const Environment& environment) {
  const std::string host = environment("PET_MASTER_ADDR");
  const auto may_be_in_one = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '.' || c == '-' || c == '_' || c == ':' || c == '%';
  };
  if (host.size() > longest_host || !std::ranges::all_of(host, may_be_in_one))
    refuse_variable(environment, "PET_MASTER_ADDR",
                    "neither a host's name nor an address; set it to that of host 0");
  return host;
}

}  // namespace

LaunchFlags with_pod_environment(const Environment& environment, LaunchFlags flags) {
  if (flags.nnodes || environment("PET_NNODES").empty() || !environment("LOCAL_RANK").empty())
    return flags;
  const auto is_set = [&](const char* name) { return !environment(name).empty(); };
  const int hosts = hosts_in(environment);
  if (hosts > 1) {
    std::vector<const char*> needed{"PET_NNODES"};
    if (!flags.node_rank) needed.push_back("PET_NODE_RANK");
    if (!flags.master_addr) needed.push_back("PET_MASTER_ADDR");
    all_set(environment, needed, pod);
  }
  flags.nnodes = hosts;
  if (!flags.node_rank && is_set("PET_NODE_RANK"))
    flags.node_rank = count_in(environment, "PET_NODE_RANK", 0, hosts - 1);
  if (!flags.master_addr && is_set("PET_MASTER_ADDR")) flags.master_addr = host_in(environment);
  if (!flags.master_port && is_set("PET_MASTER_PORT"))
    flags.master_port = port_of(environment, "PET_MASTER_PORT");
  if (!flags.nproc_per_node && is_set("PET_NPROC_PER_NODE"))
    flags.nproc_per_node = workers_in(environment);
  if (!flags.max_restarts && is_set("PET_MAX_RESTARTS"))
    flags.max_restarts = count_in(environment, "PET_MAX_RESTARTS", 0, LaunchFlags::most_restarts);
  return flags;
}

}  // namespace trainx::launch
