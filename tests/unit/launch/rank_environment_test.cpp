// Whose rank a process is, by what torchrun, Slurm and MPI set; each rule a row.
#include "launch/rank_environment.hpp"
#include "support/catch.hpp"
#include "support/golden.hpp"
#include <map>

namespace rank_environment_test {

using namespace trainx;

namespace {

using Variables = std::map<std::string, std::string>;

launch::Environment environment(const Variables& variables) {
  return [variables](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::string() : found->second;
  };
}

/// `base` with some variables replaced, or taken out where they are empty.
Variables with(Variables base, const Variables& changes) {
  for (const auto& [name, value] : changes) base[name] = value;
  return base;
}

/// "torchrun 2/4 local 0/2 at host:29500", "none", or the error.
std::string said(const Variables& variables, const launch::LaunchFlags& flags = {}) {
  std::string text;
  const std::string error = user_error_of([&] {
    const auto m = launch::membership_from_environment(environment(variables), flags);
    text = !m ? "none"
              : m->launcher + " " + std::to_string(m->rank) + "/" + std::to_string(m->world_size) +
                    " local " + std::to_string(m->local_rank) + "/" +
                    std::to_string(m->local_world_size) + " at " + m->address + ":" +
                    std::to_string(m->port);
  });
  return text.empty() ? error : text;
}

std::string run_id(const Variables& variables) {
  return launch::membership_from_environment(environment(variables), {})->run_id;
}

const Variables torchrun{{"RANK", "2"},           {"WORLD_SIZE", "4"},
                         {"LOCAL_RANK", "0"},     {"LOCAL_WORLD_SIZE", "2"},
                         {"MASTER_ADDR", "host"}, {"MASTER_PORT", "29500"}};
const Variables slurm{{"SLURM_JOB_ID", "77"},
                      {"SLURM_STEP_ID", "0"},
                      {"SLURM_PROCID", "5"},
                      {"SLURM_STEP_NUM_TASKS", "7"},
                      {"SLURM_NTASKS", "7"},
                      {"SLURM_LOCALID", "1"},
                      {"SLURM_NODEID", "2"},
                      {"SLURM_STEP_TASKS_PER_NODE", "2(x3),1"},
                      {"SLURM_STEP_NODELIST", "gpu[07-10]"}};
const Variables open_mpi{{"OMPI_COMM_WORLD_RANK", "1"},
                         {"OMPI_COMM_WORLD_SIZE", "2"},
                         {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                         {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                         {"MASTER_PORT", "4000"}};
const Variables pmi{{"PMI_RANK", "3"},        {"PMI_SIZE", "4"},       {"MPI_LOCALRANKID", "1"},
                    {"MPI_LOCALNRANKS", "2"}, {"MASTER_ADDR", "head"}, {"MASTER_PORT", "4000"}};
/// A script of sbatch, as Slurm starts it, on the first of two nodes.
const Variables batch{{"SLURM_JOB_ID", "77"},      {"SLURM_PROCID", "0"},
                      {"SLURM_LOCALID", "0"},      {"SLURM_NODEID", "0"},
                      {"SLURM_NTASKS", "4"},       {"SLURM_TASKS_PER_NODE", "2(x2)"},
                      {"SLURM_NODELIST", "n[1-2]"}};

struct Row {
  Variables variables;
  std::string what;
};

void check(const std::vector<Row>& rows) {
  for (const auto& row : rows) CHECK(said(row.variables) == row.what);
}

}  // namespace

TEST_CASE("no launcher's variables: none") {
  check({{{}, "none"},
         {{{"MASTER_ADDR", "host"}, {"MASTER_PORT", "29500"}}, "none"},
         {{{"MPI_LOCALRANKID", "0"}, {"MPI_LOCALNRANKS", "1"}}, "none"}});
}

TEST_CASE("torchrun") {
  check({{torchrun, "torchrun 2/4 local 0/2 at host:29500"},
         {with(torchrun, {{"TORCHELASTIC_USE_AGENT_STORE", "True"}}),
          "torchrun 2/4 local 0/2 at host:29501"},
         {with(torchrun, {{"TORCHELASTIC_USE_AGENT_STORE", "False"}}),
          "torchrun 2/4 local 0/2 at host:29500"},
         {{{"RANK", "0"},
           {"WORLD_SIZE", "1"},
           {"LOCAL_RANK", "0"},
           {"LOCAL_WORLD_SIZE", "1"},
           {"MASTER_ADDR", "::1"},
           {"MASTER_PORT", "1"}},
          "torchrun 0/1 local 0/1 at ::1:1"},
         {{{"RANK", "0"}},
          "2: RANK is set and WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR and "
          "MASTER_PORT are not; torchrun sets all of them: start trainx with it, or unset that one "
          "and let trainx start its "
          "workers (--nproc-per-node)"},
         {with(torchrun, {{"RANK", ""}}),
          "2: WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR and MASTER_PORT are set and "
          "RANK is not; torchrun sets all of them: start trainx with it, or unset those and let "
          "trainx start its workers "
          "(--nproc-per-node)"},
         {with(torchrun, {{"RANK", "4"}}),
          "2: RANK, WORLD_SIZE, LOCAL_RANK and LOCAL_WORLD_SIZE say rank 4 of 4; let one launcher "
          "set all of them, or unset them"},
         {with(torchrun, {{"WORLD_SIZE", "0"}}),
          "2: RANK, WORLD_SIZE, LOCAL_RANK and LOCAL_WORLD_SIZE say rank 2 of 0; let one launcher "
          "set all of them, or unset them"},
         {with(torchrun, {{"LOCAL_RANK", "2"}}),
          "2: RANK, WORLD_SIZE, LOCAL_RANK and LOCAL_WORLD_SIZE say rank 2 of 2 on this host; let "
          "one launcher set all of them, or unset them"},
         {with(torchrun, {{"LOCAL_WORLD_SIZE", "5"}}),
          "2: RANK, WORLD_SIZE, LOCAL_RANK and LOCAL_WORLD_SIZE say 5 ranks on this host of 4 in "
          "all; let one launcher set all of them, or unset them"},
         {with(torchrun, {{"RANK", "two"}}),
          "2: RANK is 'two', not a whole number from 0 to 1048576; torchrun sets it: unset it "
          "where trainx is started otherwise"},
         {with(torchrun, {{"RANK", "-1"}}),
          "2: RANK is '-1', not a whole number from 0 to 1048576; torchrun sets it: unset it where "
          "trainx is started otherwise"},
         {with(torchrun, {{"RANK", "1.5"}}),
          "2: RANK is '1.5', not a whole number from 0 to 1048576; torchrun sets it: unset it "
          "where trainx is started otherwise"},
         {with(torchrun, {{"WORLD_SIZE", "99999999999999999999"}}),
          "2: WORLD_SIZE is '99999999999999999999', not a whole number from 0 to 1048576; torchrun "
          "sets it: unset it where trainx is started otherwise"},
         {with(torchrun, {{"MASTER_PORT", "0"}}),
          "2: MASTER_PORT is '0', not a port (1 to 65535); set it to one that is free on the host "
          "of rank 0, on all hosts alike"},
         {with(torchrun, {{"MASTER_PORT", "65536"}}),
          "2: MASTER_PORT is '65536', not a port (1 to 65535); set it to one that is free on the "
          "host of rank 0, on all hosts alike"},
         {with(torchrun, {{"MASTER_PORT", "65535"}, {"TORCHELASTIC_USE_AGENT_STORE", "True"}}),
          "2: MASTER_PORT is 65535, which torchrun's agent holds itself, and trainx takes the "
          "next; give torchrun a lower --master-port"}});
}

TEST_CASE("a restart by torchrun has another run id, its ranks have the same") {
  const auto run =
      with(torchrun, {{"TORCHELASTIC_RUN_ID", "r"}, {"TORCHELASTIC_RESTART_COUNT", "0"}});
  CHECK(run_id(run) == run_id(with(run, {{"RANK", "3"}, {"LOCAL_RANK", "1"}})));
  CHECK(run_id(run) != run_id(with(run, {{"TORCHELASTIC_RESTART_COUNT", "1"}})));
  CHECK(run_id(run) != run_id(with(run, {{"TORCHELASTIC_RUN_ID", "s"}})));
  CHECK(run_id(torchrun) == run_id(with(torchrun, {{"RANK", "3"}})));
}

TEST_CASE("ranks of elastic agents meet, whatever their agents have counted") {
  const auto run = with(torchrun, {{"TORCHELASTIC_RUN_ID", "r"},
                                   {"TORCHELASTIC_USE_AGENT_STORE", "False"},
                                   {"TORCHELASTIC_RESTART_COUNT", "0"}});
  CHECK(
      run_id(run) ==
      run_id(with(run, {{"RANK", "3"}, {"LOCAL_RANK", "1"}, {"TORCHELASTIC_RESTART_COUNT", "1"}})));
  CHECK(run_id(run) != run_id(with(run, {{"MASTER_PORT", "29501"}})));
  CHECK(run_id(run) != run_id(with(run, {{"TORCHELASTIC_RUN_ID", "s"}})));
}

TEST_CASE("Slurm: a task of a step with several") {
  const std::string port = std::to_string(launch::derived_port("77.0"));
  check({{slurm, "slurm 5/7 local 1/2 at gpu07:" + port},
         {with(slurm, {{"SLURM_PROCID", "6"}, {"SLURM_LOCALID", "0"}, {"SLURM_NODEID", "3"}}),
          "slurm 6/7 local 0/1 at gpu07:" + port},
         {with(slurm, {{"SLURM_STEP_ID", "3"}}),
          "slurm 5/7 local 1/2 at gpu07:" + std::to_string(launch::derived_port("77.3"))},
         // SLURM_NTASKS
         {with(slurm, {{"SLURM_STEP_NUM_TASKS", ""}}), "slurm 5/7 local 1/2 at gpu07:" + port},
         // the job's, not the step's
         {with(slurm, {{"SLURM_NTASKS", "64"}}), "slurm 5/7 local 1/2 at gpu07:" + port},
         {with(slurm, {{"SLURM_STEP_NODELIST", ""}, {"SLURM_NODELIST", "x2,x1"}}),
          "slurm 5/7 local 1/2 at x2:" + port},
         {with(slurm, {{"SLURM_STEP_TASKS_PER_NODE", ""}, {"SLURM_TASKS_PER_NODE", "3,2(x2)"}}),
          "slurm 5/7 local 1/2 at gpu07:" + port},
         {with(slurm, {{"MASTER_ADDR", "ib7"}, {"MASTER_PORT", "5000"}}),
          "slurm 5/7 local 1/2 at ib7:5000"},
         // One host: no name of it needs to be known.
         {with(slurm, {{"SLURM_STEP_TASKS_PER_NODE", "7"},
                       {"SLURM_NODEID", "0"},
                       {"SLURM_STEP_NODELIST", ""}}),
          "slurm 5/7 local 1/7 at 127.0.0.1:" + port}});
  CHECK(run_id(slurm) == run_id(with(slurm, {{"SLURM_PROCID", "1"}})));
  CHECK(run_id(slurm) != run_id(with(slurm, {{"SLURM_STEP_ID", "1"}})));
  CHECK(run_id(slurm) != run_id(with(slurm, {{"SLURM_JOB_ID", "78"}})));
  CHECK(run_id(slurm) != run_id(with(slurm, {{"SLURM_RESTART_COUNT", "1"}})));
}

TEST_CASE("Slurm: shells, scripts and single tasks start their workers themselves") {
  check({{batch, "none"},
         {with(batch, {{"SLURM_NTASKS", ""}}), "none"},
         {with(batch, {{"SLURM_STEP_ID", "4294967291"}, {"SLURM_STEP_NUM_TASKS", "1"}}), "none"},
         // salloc
         {{{"SLURM_JOB_ID", "77"}, {"SLURM_NTASKS", "8"}, {"SLURM_NODELIST", "n1"}}, "none"},
         // salloc with an interactive step
         {with(batch, {{"SLURM_STEP_ID", "4294967290"}}), "none"},
         // srun -n1 in a job of 7
         {with(slurm, {{"SLURM_STEP_NUM_TASKS", "1"}, {"SLURM_PROCID", "0"}}), "none"},
         {with(slurm, {{"SLURM_STEP_NUM_TASKS", ""}, {"SLURM_NTASKS", "1"}}), "none"}});
}

TEST_CASE("Slurm: a script that was submitted from inside a task is none of its step's") {
  const auto inherited =
      with(slurm, {{"SLURM_PROCID", "0"}, {"SLURM_LOCALID", "0"}, {"SLURM_NODEID", "0"}});
  check({{with(inherited, {{"SLURM_JOB_NODELIST", "gpu07"}}), "none"},
         {with(inherited, {{"SLURM_JOB_NODELIST", "gpu[05-20]"}, {"SLURM_GTIDS", "0"}}), "none"}});
  const auto itself =
      with(inherited, {{"SLURM_JOB_NODELIST", "gpu[05-20]"}, {"SLURM_GTIDS", "0,1"}});
  CHECK(said(itself).starts_with("slurm 0/7 local 0/2"));
  // srun --preserve-env
  CHECK(said(with(itself, {{"SLURM_TASKS_PER_NODE", "8(x16)"}, {"SLURM_NTASKS", "128"}}))
            .starts_with("slurm 0/7 local 0/2"));
}

TEST_CASE("Slurm: what is half set or contradicts itself is refused") {
  check(
      {{with(slurm, {{"SLURM_STEP_NUM_TASKS", ""}, {"SLURM_NTASKS", ""}}),
        "2: SLURM_PROCID and SLURM_STEP_ID are set and SLURM_STEP_NUM_TASKS is not; srun sets all "
        "of them: start trainx with it, or unset those"},
       {with(slurm, {{"SLURM_LOCALID", ""}}),
        "2: SLURM_PROCID, SLURM_NODEID and SLURM_JOB_ID are set and SLURM_LOCALID is not; srun "
        "sets all of them: start trainx with it, or unset those and let trainx start its workers "
        "(--nproc-per-node)"},
       {with(slurm, {{"SLURM_PROCID", "7"}}),
        "2: SLURM_PROCID, SLURM_STEP_NUM_TASKS, SLURM_LOCALID and SLURM_STEP_TASKS_PER_NODE say "
        "rank 7 of 7; let one launcher set all of them, or unset them"},
       {with(slurm, {{"SLURM_LOCALID", "2"}}),
        "2: SLURM_PROCID, SLURM_STEP_NUM_TASKS, SLURM_LOCALID and SLURM_STEP_TASKS_PER_NODE say "
        "rank 2 of 2 on this host; let one launcher set all of them, or unset them"},
       {with(slurm, {{"SLURM_NODEID", "4"}}),
        "2: SLURM_NODEID is '4', not one of the 4 nodes of SLURM_STEP_TASKS_PER_NODE; start the "
        "workers with srun, which sets it, or with --nproc-per-node, --nnodes and --node-rank"},
       {with(slurm, {{"SLURM_STEP_TASKS_PER_NODE", "2(x"}}),
        "2: SLURM_STEP_TASKS_PER_NODE is '2(x', not a list of counts such as '2(x3),1'; start the "
        "workers with srun, which sets it, or with --nproc-per-node, --nnodes and --node-rank"},
       {with(slurm, {{"SLURM_STEP_NODELIST", "gpu[7-"}}),
        "2: SLURM_STEP_NODELIST is 'gpu[7-', not a list of hosts such as 'a[01-03],b2'; start the "
        "workers with srun, which sets it, or with --nproc-per-node, --nnodes and --node-rank"},
       {with(slurm, {{"SLURM_STEP_NUM_TASKS", "many"}}),
        "2: SLURM_STEP_NUM_TASKS is 'many', not a whole number from 0 to 1048576; srun sets it: "
        "unset it where trainx is started otherwise"}});
}

TEST_CASE("MPI") {
  const std::string mpi_port = std::to_string(launch::derived_port("OMPI_MCA_ess_base_jobid 123")),
                    pmix_port =
                        std::to_string(launch::derived_port("PMIX_NAMESPACE prterun-h-9@1"));
  check(
      {{open_mpi, "mpi 1/2 local 1/2 at 127.0.0.1:4000"},
       {with(open_mpi,
             {{"MASTER_PORT", ""}, {"OMPI_MCA_ess_base_jobid", "123"}, {"PMIX_NAMESPACE", "123"}}),
        "mpi 1/2 local 1/2 at 127.0.0.1:" + mpi_port},
       {with(open_mpi, {{"MASTER_PORT", ""}, {"PMIX_NAMESPACE", "prterun-h-9@1"}}),
        "mpi 1/2 local 1/2 at 127.0.0.1:" + pmix_port},
       {with(open_mpi, {{"MASTER_PORT", ""}}),
        "2: OMPI_COMM_WORLD_RANK is set, and neither MASTER_PORT nor a variable that names the "
        "job; pass it with `mpirun -x MASTER_PORT` (a free port on the host of rank 0)"},
       {with(open_mpi, {{"OMPI_COMM_WORLD_LOCAL_SIZE", "1"}, {"OMPI_COMM_WORLD_LOCAL_RANK", "0"}}),
        "2: OMPI_COMM_WORLD_SIZE is 2, OMPI_COMM_WORLD_LOCAL_SIZE 1, and MASTER_ADDR, the host of "
        "rank 0, is not set; pass it with `mpirun -x MASTER_ADDR`"},
       {with(open_mpi, {{"OMPI_COMM_WORLD_LOCAL_SIZE", "1"},
                        {"OMPI_COMM_WORLD_LOCAL_RANK", "0"},
                        {"MASTER_ADDR", "h0"}}),
        "mpi 1/2 local 0/1 at h0:4000"},
       {with(open_mpi, {{"OMPI_COMM_WORLD_SIZE", ""}}),
        "2: OMPI_COMM_WORLD_RANK, OMPI_COMM_WORLD_LOCAL_RANK and OMPI_COMM_WORLD_LOCAL_SIZE are "
        "set and OMPI_COMM_WORLD_SIZE is not; mpirun sets all of them: start trainx with it, or "
        "unset those and let "
        "trainx start its workers (--nproc-per-node)"},
       {with(open_mpi, {{"OMPI_COMM_WORLD_RANK", "2"}}),
        "2: OMPI_COMM_WORLD_RANK, OMPI_COMM_WORLD_SIZE, OMPI_COMM_WORLD_LOCAL_RANK and "
        "OMPI_COMM_WORLD_LOCAL_SIZE say rank 2 of 2; let one launcher set all of them, or unset "
        "them"},
       {with(open_mpi, {{"MASTER_PORT", "http"}}),
        "2: MASTER_PORT is 'http', not a port (1 to 65535); set it to one that is free on the host "
        "of rank 0, on all hosts alike"},
       {pmi, "mpi 3/4 local 1/2 at head:4000"},
       {with(pmi, {{"MASTER_ADDR", ""}}),
        "2: PMI_SIZE is 4, MPI_LOCALNRANKS 2, and MASTER_ADDR, the host of rank 0, is not set; "
        "pass it with `mpiexec -genv MASTER_ADDR`"},
       {with(pmi, {{"PMI_SIZE", ""}}),
        "2: PMI_RANK is set and PMI_SIZE is not; mpiexec sets all of them: start trainx with it, "
        "or unset that one and let trainx start its workers (--nproc-per-node)"},
       {with(pmi, {{"MPI_LOCALRANKID", ""}}),
        "2: PMI_RANK, PMI_SIZE and MPI_LOCALNRANKS are set and MPI_LOCALRANKID is not; mpiexec "
        "sets all of them: start trainx with it, or unset those and let trainx start its workers "
        "(--nproc-per-node)"},
       {{{"PMI_RANK", "0"}, {"PMI_SIZE", "1"}, {"MPI_LOCALRANKID", "0"}, {"MPI_LOCALNRANKS", "1"}},
        "mpi 0/1 local 0/1 at 127.0.0.1:0"}});
  CHECK(run_id(open_mpi) == run_id(with(open_mpi, {{"OMPI_COMM_WORLD_RANK", "0"}})));
}

TEST_CASE("torchrun goes before Slurm, Slurm before MPI, flags before all") {
  Variables all = with(with(torchrun, slurm), open_mpi);
  CHECK(said(all).starts_with("torchrun 2/4"));
  // srun --mpi=pmi2
  CHECK(said(with(pmi, with(slurm, {{"PMI_RANK", "5"}, {"PMI_SIZE", "7"}})))
            .starts_with("slurm 5/7"));
  for (const auto& flags :
       {launch::LaunchFlags{.nproc_per_node = 2}, launch::LaunchFlags{.nnodes = 1}})
    CHECK(said(all, flags) == "none");
  // not looked at
  CHECK(said(with(torchrun, {{"RANK", ""}}), {.nproc_per_node = 2}) == "none");
}

TEST_CASE("the ranks of an mpirun that Slurm's srun carries are MPI's") {
  CHECK(said(with(slurm, open_mpi)).starts_with("mpi 1/2"));
  CHECK(said(with(slurm, pmi)).starts_with("mpi 3/4"));
  CHECK(said(with(batch, open_mpi)).starts_with("mpi 1/2"));
}

TEST_CASE("restarts are the other launcher's") {
  check_error("launch.rank_environment/restarts", 2, said(torchrun, {.max_restarts = 3}));
  CHECK(said({}, {.max_restarts = 3}) == "none");
}

TEST_CASE("derived ports lie in their range") {
  for (int job = 0; job < 1000; ++job) {
    const int port = launch::derived_port(std::to_string(job) + ".0");
    if (!(port >= 20000 && port < 30000)) FAIL("job " << job << ": " << port);
  }
}

}  // namespace rank_environment_test
