// srun sets, for each task of a step: SLURM_PROCID (rank), SLURM_STEP_NUM_TASKS, SLURM_LOCALID,
// SLURM_NODEID, SLURM_STEP_TASKS_PER_NODE, SLURM_STEP_NODELIST, SLURM_JOB_ID, SLURM_STEP_ID. A
// script of sbatch sees SLURM_PROCID=0 too, and SLURM_NTASKS of the whole job, but is in no step of
// srun's: it has no SLURM_STEP_ID. Hence: a worker is a task of a step (SLURM_PROCID and
// SLURM_STEP_ID) with more than one task.
//
// Two kinds of processes inherit such variables without being that task: ranks of an mpirun, whose
// daemons are the tasks; and a script that was submitted from inside a task, whose step's hosts and
// tasks then do not fit with its own job's (SLURM_JOB_NODELIST, SLURM_GTIDS).
#include "core/error.hpp"
#include "core/number.hpp"
#include "launch/rank_environment.hpp"
#include "launch/slurm_lists.hpp"
#include <algorithm>
#include <set>

namespace trainx::launch {
namespace {

// The shell of salloc and the script of sbatch are steps with reserved numbers from here on
// (4294967290: interactive, ...91: batch, ...92: extern).
constexpr std::int64_t first_reserved_step = 0xfffffff0;

const std::string srun = "srun";

/// The first of two variables that is set; the second where neither is.
const char* first_set(const Environment& environment, const char* name, const char* other) {
  return environment(name).empty() ? other : name;
}

[[noreturn]] void cannot_read(const Environment& environment, const char* name,
                              const std::string& wanted) {
  throw UserError(ExitCode::usage, std::string(name) + " is '" + environment(name) + "', not " +
                                       wanted +
                                       "; start the workers with srun, which sets it, or with "
                                       "--nproc-per-node, --nnodes and --node-rank");
}

/// mpirun and mpiexec start their own daemons through srun: their ranks inherit the daemons'
/// variables of Slurm, which number hosts. (srun sets PMI_SIZE itself under --mpi=pmi2, to its own
/// number of tasks.)
bool belongs_to_mpi(const Environment& environment, int tasks) {
  const std::string ranks = environment("PMI_SIZE");
  return !environment("OMPI_COMM_WORLD_SIZE").empty() ||
         (!ranks.empty() && ranks != std::to_string(tasks));
}

/// Ranks of this host, as Slurm counts them for this very process.
std::size_t tasks_here(const Environment& environment) {
  const std::string ids = environment("SLURM_GTIDS");
  return ids.empty() ? 0 : 1 + static_cast<std::size_t>(std::ranges::count(ids, ','));
}

/// The step's variables came with whoever submitted this script.
bool is_of_another_job(const Environment& environment, const std::vector<int>& per_node,
                       std::size_t node) {
  const auto step = expand_host_list(environment("SLURM_STEP_NODELIST")),
             job = expand_host_list(environment("SLURM_JOB_NODELIST"));
  const std::set<std::string> own(job.begin(), job.end());
  if (!job.empty() &&
      !std::ranges::all_of(step, [&](const std::string& host) { return own.contains(host); }))
    return true;
  const std::size_t here = tasks_here(environment);
  return here > 0 && node < per_node.size() && here != static_cast<std::size_t>(per_node[node]);
}

}  // namespace

std::optional<comm::Membership> membership_of_slurm(const Environment& environment) {
  const auto step = parse_integer(environment("SLURM_STEP_ID"));
  if (environment("SLURM_PROCID").empty() || environment("SLURM_STEP_ID").empty() ||
      (step && *step >= first_reserved_step))
    return std::nullopt;
  const auto count = [&](const char* name) {
    return whole_number(environment, name, 1 << 20, srun);
  };
  const char* const size_name = first_set(environment, "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS");
  if (environment(size_name).empty())
    throw UserError(ExitCode::usage,
                    "SLURM_PROCID and SLURM_STEP_ID are set and SLURM_STEP_NUM_TASKS is not; srun "
                    "sets all of them: start trainx with it, or unset those");
  const int tasks = count(size_name);
  if (tasks <= 1 || belongs_to_mpi(environment, tasks)) return std::nullopt;

  static constexpr const char* needed[]{"SLURM_PROCID", "SLURM_LOCALID", "SLURM_NODEID",
                                        "SLURM_JOB_ID"};
  all_set(environment, needed, srun);
  const char* const counts_name =
      first_set(environment, "SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE");
  const auto per_node = expand_task_counts(environment(counts_name));
  if (per_node.empty()) cannot_read(environment, counts_name, "a list of counts such as '2(x3),1'");
  const auto node = static_cast<std::size_t>(count("SLURM_NODEID"));
  if (is_of_another_job(environment, per_node, node)) return std::nullopt;
  if (node >= per_node.size())
    cannot_read(environment, "SLURM_NODEID",
                "one of the " + std::to_string(per_node.size()) + " nodes of " + counts_name);
  comm::Membership m;
  m.rank = count("SLURM_PROCID"), m.world_size = tasks;
  m.local_rank = count("SLURM_LOCALID"), m.local_world_size = per_node[node];
  check_ranks(m, std::string("SLURM_PROCID, ") + size_name + ", SLURM_LOCALID and " + counts_name);

  const char* const hosts_name = first_set(environment, "SLURM_STEP_NODELIST", "SLURM_NODELIST");
  if (!environment("MASTER_ADDR").empty()) {
    m.address = environment("MASTER_ADDR");
  } else if (m.local_world_size < m.world_size) {
    const auto hosts = expand_host_list(environment(hosts_name));
    if (hosts.empty())
      cannot_read(environment, hosts_name, "a list of hosts such as 'a[01-03],b2'");
    // where srun puts task 0, but with --distribution=arbitrary: MASTER_ADDR says it there
    m.address = hosts.front();
  }
  const std::string job = environment("SLURM_JOB_ID") + "." + environment("SLURM_STEP_ID");
  m.port = environment("MASTER_PORT").empty() ? derived_port(job)
                                              : port_of(environment, "MASTER_PORT");
  m.run_id = "slurm " + job + " " + environment("SLURM_RESTART_COUNT");
  m.launcher = "slurm";
  return m;
}

}  // namespace trainx::launch
