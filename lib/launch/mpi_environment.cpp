#include "core/error.hpp"
#include "launch/rank_environment.hpp"
#include <array>

namespace trainx::launch {
namespace {

/// How one kind of MPI says who a process is.
struct Kind {
  std::array<const char*, 4> names;  // rank, size, rank on the host, size on the host
  const char* launcher;
  const char* pass;  // how it hands a variable to all ranks
};
constexpr Kind open_mpi{{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
                         "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"},
                        "mpirun",
                        "-x"};
constexpr Kind pmi{
    {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"}, "mpiexec", "-genv"};

/// What names this run among those of the host: the first of these variables that is set.
std::string job_of(const Environment& environment) {
  for (const char* name : {"OMPI_MCA_ess_base_jobid", "PMIX_NAMESPACE", "PMI_JOBID", "PMI_KVSNAME",
                           "SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID"})
    if (const std::string id = environment(name); !id.empty()) return std::string(name) + " " + id;
  return {};
}

comm::Membership read(const Environment& environment, const Kind& kind) {
  const auto count = [&](const char* name) {
    return whole_number(environment, name, 1 << 20, kind.launcher);
  };
  const std::string how = std::string("pass it with `") + kind.launcher + " " + kind.pass + " ";
  comm::Membership m;
  m.rank = count(kind.names[0]), m.world_size = count(kind.names[1]),
  m.local_rank = count(kind.names[2]), m.local_world_size = count(kind.names[3]);
  check_ranks(m, std::string(kind.names[0]) + ", " + kind.names[1] + ", " + kind.names[2] +
                     " and " + kind.names[3]);
  if (const std::string address = environment("MASTER_ADDR"); !address.empty())
    m.address = address;
  else if (m.local_world_size < m.world_size)
    throw UserError(ExitCode::usage, std::string(kind.names[1]) + " is " +
                                         std::to_string(m.world_size) + ", " + kind.names[3] + " " +
                                         std::to_string(m.local_world_size) +
                                         ", and MASTER_ADDR, the host of rank 0, is not set; " +
                                         how + "MASTER_ADDR`");
  const std::string job = job_of(environment);
  if (!environment("MASTER_PORT").empty())
    m.port = port_of(environment, "MASTER_PORT");
  else if (!job.empty())
    m.port = derived_port(job);
  else if (m.world_size > 1)
    throw UserError(ExitCode::usage,
                    std::string(kind.names[0]) +
                        " is set, and neither MASTER_PORT nor a variable that names the job; " +
                        how + "MASTER_PORT` (a free port on the host of rank 0)");
  m.run_id = "mpi " + (job.empty() ? m.address + ":" + std::to_string(m.port) : job);
  m.launcher = "mpi";
  return m;
}

}  // namespace

std::optional<comm::Membership> membership_of_mpi(const Environment& environment) {
  if (all_set(environment, open_mpi.names, open_mpi.launcher)) return read(environment, open_mpi);
  // Those of a host are not only PMI's: other programs set them too.
  const std::array<const char*, 2> ranks{pmi.names[0], pmi.names[1]};
  if (all_set(environment, ranks, pmi.launcher) && all_set(environment, pmi.names, pmi.launcher))
    return read(environment, pmi);
  return std::nullopt;
}

}  // namespace trainx::launch
