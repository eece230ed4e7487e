// Flags that the variables of a TrainJob's pod stand for.
#include "launch/pod_environment.hpp"
#include "launch/launch_plan.hpp"
#include "launch/rank_environment.hpp"
#include "support/catch.hpp"
#include "support/golden.hpp"
#include <map>

namespace pod_environment_test {

using namespace trainx;
using launch::LaunchFlags;

namespace {

using Variables = std::map<std::string, std::string>;

/// What the controller sets in the second pod of three with GPUs.
const Variables second_pod{{"PET_NNODES", "3"},
                           {"PET_NODE_RANK", "1"},
                           {"PET_NPROC_PER_NODE", "auto"},
                           {"PET_MASTER_ADDR", "job-node-0-0.job"},
                           {"PET_MASTER_PORT", "29500"}};

launch::Environment with(const Variables& changes, Variables base = second_pod) {
  for (const auto& [name, value] : changes) base[name] = value;
  return [base](const char* name) {
    const auto found = base.find(name);
    return found == base.end() ? std::string() : found->second;
  };
}

std::string text_of(const std::optional<int>& n) { return n ? std::to_string(*n) : "-"; }

/// "nodes 3 rank 1 workers 0 at host:29500 restarts -", or the error.
std::string said(const launch::Environment& environment, const LaunchFlags& given = {}) {
  std::string text;
  const std::string error = user_error_of([&] {
    const LaunchFlags f = launch::with_pod_environment(environment, given);
    text = "nodes " + text_of(f.nnodes) + " rank " + text_of(f.node_rank) + " workers " +
           text_of(f.nproc_per_node) + " at " + f.master_addr.value_or("-") + ":" +
           text_of(f.master_port) + " restarts " + text_of(f.max_restarts);
  });
  return text.empty() ? error : text;
}

const std::string unchanged = "nodes - rank - workers - at -:- restarts -";

}  // namespace

TEST_CASE("the variables of a pod become flags") {
  CHECK(said(with({})) == "nodes 3 rank 1 workers 0 at job-node-0-0.job:29500 restarts -");
  CHECK(said(with({{"PET_NPROC_PER_NODE", "gpu"}, {"PET_MAX_RESTARTS", "4"}})) ==
        "nodes 3 rank 1 workers 0 at job-node-0-0.job:29500 restarts 4");
  CHECK(said(with({{"PET_NPROC_PER_NODE", "8"}, {"PET_MASTER_ADDR", "fd00::1%eth0"}})) ==
        "nodes 3 rank 1 workers 8 at fd00::1%eth0:29500 restarts -");
  CHECK(said(with({{"PET_NPROC_PER_NODE", ""}, {"PET_MASTER_PORT", ""}})) ==
        "nodes 3 rank 1 workers - at job-node-0-0.job:- restarts -");
  CHECK(said(with({{"PET_NNODES", "1"}}, {})) == "nodes 1 rank - workers - at -:- restarts -");
}

TEST_CASE("flags go before the variables of a pod") {
  CHECK(said(with({{"PET_MAX_RESTARTS", "4"}, {"PET_NPROC_PER_NODE", "8"}}),
             {.nproc_per_node = 2, .max_restarts = 1}) ==
        "nodes 3 rank 1 workers 2 at job-node-0-0.job:29500 restarts 1");
  CHECK(said(with({{"PET_NODE_RANK", "x"}, {"PET_MASTER_ADDR", ""}, {"PET_MASTER_PORT", "x"}}),
             {.node_rank = 2, .master_addr = "h", .master_port = 7}) ==
        "nodes 3 rank 2 workers 0 at h:7 restarts -");
}

TEST_CASE("variables of a pod are left alone if nothing asks for several hosts") {
  CHECK(said(with({{"PET_NNODES", ""}})) == unchanged);
  CHECK(said(with({{"LOCAL_RANK", "0"}, {"PET_NNODES", "x"}})) == unchanged);
  CHECK(said(with({{"PET_NNODES", "x"}}), {.nnodes = 1}) ==
        "nodes 1 rank - workers - at -:- restarts -");
}

TEST_CASE("variables of a pod that are no numbers, names or hosts are refused") {
  const auto refused = [](const std::string& sentence, const Variables& changes) {
    check_error("launch.pod_environment/" + sentence, 2, said(with(changes)));
  };
  for (const char* text : {"two", "0", "-1", "1.5", " 2", "65537", "99999999999999999999"})
    CHECK(said(with({{"PET_NNODES", text}})).starts_with("2: PET_NNODES is '"));
  for (const char* text : {"3", "-1", "01", "one", "$(JOB_COMPLETION_INDEX)"})
    CHECK(said(with({{"PET_NODE_RANK", text}})).starts_with("2: PET_NODE_RANK is '"));
  for (const char* text : {"0", "cpu", "AUTO", "1025", "8 "})
    CHECK(said(with({{"PET_NPROC_PER_NODE", text}})).starts_with("2: PET_NPROC_PER_NODE is '"));
  for (const std::string& text :
       {std::string("a b"), std::string("h;reboot"), std::string("h\n"), std::string(254, 'a')})
    CHECK(said(with({{"PET_MASTER_ADDR", text}})).starts_with("2: PET_MASTER_ADDR is '"));
  refused("no_number_of_hosts", {{"PET_NNODES", "two"}});
  refused("range_of_hosts", {{"PET_NNODES", "2:4"}});
  refused("rank_beyond", {{"PET_NODE_RANK", "3"}});
  refused("no_number_of_workers", {{"PET_NPROC_PER_NODE", "cpu"}});
  refused("no_host", {{"PET_MASTER_ADDR", "a b"}});
  refused("no_port", {{"PET_MASTER_PORT", "65536"}});
  refused("no_restarts", {{"PET_MAX_RESTARTS", "-1"}});
  refused("half_set", {{"PET_NODE_RANK", ""}, {"PET_MASTER_ADDR", ""}});
}

TEST_CASE("a pod starts the ranks of its host, also where a script has set RANK alone") {
  const auto plan_of = [](const launch::Environment& environment, const LaunchFlags& flags) {
    return launch::decide_membership(environment, flags, {.visible_gpus = 8});
  };
  const auto plan = plan_of(with({{"RANK", "1"}, {"WORLD_SIZE", "3"}}), {});
  CHECK(plan.workers == 8);
  CHECK(plan.first.rank == 8);
  CHECK(plan.first.world_size == 24);
  CHECK(plan.first.address == "job-node-0-0.job");
  CHECK(plan.first.port == 29500);
  CHECK(plan.is_launcher());
  CHECK_FALSE(plan.owns_all());
  CHECK(plan_of(with({}), {.nnodes = 1}).owns_all());
  const auto one = plan_of(with({{"PET_NNODES", "1"}, {"PET_NODE_RANK", "0"}}), {});
  CHECK(one.owns_all());
  CHECK(one.first.world_size == 8);
}

TEST_CASE("commands that start runs of their own know that each pod starts them") {
  CHECK(launch::starter_of_several(with({}), {}) == "PET_NNODES");
  CHECK(launch::starter_of_several(with({}), {.nnodes = 2}).empty());
  CHECK(
      launch::starter_of_several(with({{"PET_NNODES", "1"}, {"PET_NODE_RANK", "0"}}), {}).empty());
  CHECK(launch::starter_of_several(with({}, {}), {}).empty());
  const Variables rank{{"RANK", "0"},           {"WORLD_SIZE", "2"},
                       {"LOCAL_RANK", "0"},     {"LOCAL_WORLD_SIZE", "2"},
                       {"MASTER_ADDR", "host"}, {"MASTER_PORT", "5"}};
  CHECK(launch::starter_of_several(with(rank), {}) == "torchrun");
}

}  // namespace pod_environment_test
