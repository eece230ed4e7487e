// How many workers, and which ranks: flags, environment, recipe, GPUs.
#include "launch/launch_plan.hpp"
#include "support/catch.hpp"
#include "support/golden.hpp"

namespace launch_plan_test {

using namespace trainx;
using launch::LaunchFlags;
using launch::LaunchRequest;

namespace {

const launch::Environment nothing = [](const char*) { return std::string(); };
const launch::Environment torchrun = [](const char* name) -> std::string {
  const std::string n = name;
  return n == "RANK" || n == "LOCAL_RANK"               ? "1"
         : n == "WORLD_SIZE" || n == "LOCAL_WORLD_SIZE" ? "2"
         : n == "MASTER_ADDR"                           ? "h"
         : n == "MASTER_PORT"                           ? "5"
                                                        : "";
};

/// "ranks 2..3 of 4", with "at host:port" where the launcher does not make the socket.
std::string said(const launch::Environment& environment, const LaunchFlags& flags,
                 const LaunchRequest& wish) {
  std::string text;
  const std::string error = user_error_of([&] {
    const auto plan = launch::decide_membership(environment, flags, wish);
    const auto last = plan.membership(plan.workers - 1);
    text = plan.first.launcher + " ranks " + std::to_string(plan.first.rank) + ".." +
           std::to_string(last.rank) + " of " + std::to_string(last.world_size);
    if (!plan.owns_all()) text += " at " + last.address + ":" + std::to_string(last.port);
    if (plan.max_restarts > 0) text += ", restarts " + std::to_string(plan.max_restarts);
  });
  return text.empty() ? error : text;
}

}  // namespace

TEST_CASE("flags go before the environment, that before the recipe, that before the GPUs") {
  CHECK(said(nothing, {}, {}) == "trainx ranks 0..0 of 1");
  CHECK(said(nothing, {}, {.visible_gpus = 4}) == "trainx ranks 0..3 of 4");
  CHECK(said(nothing, {}, {.world_size = 2, .visible_gpus = 4}) == "trainx ranks 0..1 of 2");
  CHECK(said(torchrun, {}, {.world_size = 8}) == "torchrun ranks 1..1 of 2 at h:5");
  CHECK(said(torchrun, {.nproc_per_node = 3}, {.world_size = 8}) == "trainx ranks 0..2 of 3");
  CHECK(said(nothing, {.nproc_per_node = LaunchFlags::automatic},
             {.world_size = 8, .visible_gpus = 4}) == "trainx ranks 0..3 of 4");
  CHECK(said(nothing, {.nproc_per_node = LaunchFlags::automatic}, {}) == "trainx ranks 0..0 of 1");
  CHECK(said(nothing, {.nproc_per_node = 2, .max_restarts = 3}, {}) ==
        "trainx ranks 0..1 of 2, restarts 3");
}

TEST_CASE("several hosts") {
  CHECK(said(nothing, {.nproc_per_node = 2, .nnodes = 3, .node_rank = 1, .master_addr = "h"}, {}) ==
        "flags ranks 2..3 of 6 at h:29500");
  CHECK(said(nothing, {.nnodes = 2, .node_rank = 0, .master_addr = "h", .master_port = 7},
             {.visible_gpus = 8}) == "flags ranks 0..7 of 16 at h:7");
  CHECK(said(nothing, {.nnodes = 2, .node_rank = 1, .master_addr = "h"},
             {.world_size = 4, .visible_gpus = 8}) == "flags ranks 2..3 of 4 at h:29500");
  CHECK(
      said(nothing,
           {.nproc_per_node = 2, .nnodes = 1, .node_rank = 0, .master_addr = "h", .master_port = 7},
           {}) == "trainx ranks 0..1 of 2");
  check_error("launch.launch_plan/ranks_do_not_divide", 2,
              said(nothing, {.nnodes = 2, .node_rank = 1, .master_addr = "h"}, {.world_size = 3}));
  for (const auto& lacking : {LaunchFlags{.nnodes = 2}, LaunchFlags{.nnodes = 2, .node_rank = 0},
                              LaunchFlags{.nnodes = 2, .master_addr = "h"}})
    check_error("launch.launch_plan/nnodes_alone", 2, said(nothing, lacking, {}));
  check_error("launch.launch_plan/node_rank_beyond", 2,
              said(nothing, {.nnodes = 2, .node_rank = 2, .master_addr = "h"}, {}));
  check_error("launch.launch_plan/secret_file_of_one_host", 2,
              said(nothing, {.nproc_per_node = 2, .secret_file = "f"}, {}));
  for (const auto& flags : {LaunchFlags{.node_rank = 0}, LaunchFlags{.master_addr = "h"},
                            LaunchFlags{.master_port = 7}})
    check_error("launch.launch_plan/no_nnodes", 2, said(nothing, flags, {}));
}

TEST_CASE("hosts of one run have one run id, another run or port another") {
  const auto run_id = [](int node, int port, const char* run) {
    return launch::decide_membership(nothing,
                                     {.nproc_per_node = 1,
                                      .nnodes = 2,
                                      .node_rank = node,
                                      .master_addr = "h",
                                      .master_port = port},
                                     {.run_name = run})
        .first.run_id;
  };
  CHECK(run_id(0, 7, "a") == run_id(1, 7, "a"));
  CHECK(run_id(0, 7, "a") != run_id(0, 7, "b"));
  CHECK(run_id(0, 7, "a") != run_id(0, 8, "a"));
}

}  // namespace launch_plan_test
