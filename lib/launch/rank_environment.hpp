// Which rank this process is where another launcher started it.
#pragma once
#include "launch/environment.hpp"
#include "launch/launch_flags.hpp"
#include <optional>
#include <string>

namespace trainx::launch {

/// The rank that another launcher gave to this process: torchrun's, else Slurm's, else MPI's;
/// nothing where none did, or where flags ask trainx to start its workers itself. Throws UserError
/// 2: variables are half set, are no numbers, contradict each other, or leave out where rank 0 is.
std::optional<comm::Membership> membership_from_environment(const Environment& environment,
                                                            const LaunchFlags& flags);

/// What starts this command more than once, as a rank or on each host: "torchrun", "slurm", "mpi"
/// or a pod's "PET_NNODES"; empty: nothing. Throws as membership_from_environment() and
/// with_pod_environment() do.
std::string starter_of_several(const Environment& environment, const LaunchFlags& flags);

/// RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR, MASTER_PORT: all of them or none.
std::optional<comm::Membership> membership_of_torchrun(const Environment& environment);

/// A task of an srun step that has several. Not: the shell of salloc, the script of sbatch, a step
/// of one task; trainx starts workers itself there.
std::optional<comm::Membership> membership_of_slurm(const Environment& environment);

/// mpirun of Open MPI, or an mpiexec that speaks PMI (MPICH, Intel MPI).
std::optional<comm::Membership> membership_of_mpi(const Environment& environment);

}  // namespace trainx::launch
