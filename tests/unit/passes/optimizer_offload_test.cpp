#include "passes/passes.hpp"
#include "program/launch.hpp"
#include "program/print.hpp"
#include "support/catch.hpp"
#include "support/toy/prove.hpp"
#include "support/toy/text.hpp"

namespace optimizer_offload_test {

using namespace toy;
using passes::OptimizerLocation;

namespace {

UpdateSpec with_master() {
  UpdateSpec update = momentum();
  update.master = Master::fp32;
  return update;
}

StepProgram offloaded(const ModelGraph& graph, const UpdateSpec& update, int micro_steps = 1,
                      bool in_backward = false) {
  auto p = passes::accumulation(plain_program(graph, update), micro_steps);
  if (in_backward) p = passes::update_in_backward(std::move(p));
  return passes::optimizer_offload(std::move(p));
}

std::string problem_of(const StepProgram& p, const Training& t) {
  const Reference reference = as_reference(t);
  return check_program(p, unplaced(p), &reference);
}

/// Most that lies on the device at once of gradients.
Bytes most_gradients(const StepProgram& p) {
  const auto lives = lifetimes(p);
  Bytes most = 0;
  for (int k = 0; k < static_cast<int>(p.steady.size()); ++k) {
    Bytes alive = 0;
    for (std::size_t b = 0; b < lives.size(); ++b)
      for (const Interval& i : lives[b])
        if (p.buffers[b].role == Role::gradient && p.buffers[b].space == Space::device &&
            i.first <= k && k <= i.last)
          alive += p.buffers[b].bytes();
    most = std::max(most, alive);
  }
  return most;
}

Bytes peak_of(const StepProgram& p, Space space) {
  return plan_memory(p, {.alignment = 1, .overlap = 0}).peak_of(space);
}

}  // namespace

TEST_CASE("gradients go out as they are complete, the host updates, weights come back") {
  const ModelGraph graph = chain(2, false);
  const StepProgram p = offloaded(graph, with_master());
  CHECK(
      squeezed(print(p, &graph)) ==
      "m0 fetch_batch step > x target\n"
      "m0 forward embed x w.embed > h0\n"
      "m0 forward b1 h0 w.b1 > h1 b1.u b1.z\n"
      "m0 forward b2 h1 w.b2 > h2 b2.u b2.z\n"
      "m0 loss head h2 w.head target > dh2 = g.head loss_sum target_count\n"
      "grad_norm g.head > norm2\n"
      "copy @copy_out g.head > = g.head'\n"
      "m0 backward b2 b2.u b2.z dh2 w.b2 > dh1 = g.b2\n"
      "grad_norm g.b2 > + norm2\n"
      "copy @copy_out g.b2 > = g.b2'\n"
      "m0 backward b1 b1.u b1.z dh1 w.b1 > dh0 = g.b1\n"
      "grad_norm g.b1 > + norm2\n"
      "copy @copy_out g.b1 > = g.b1'\n"
      "m0 backward embed x dh0 > = g.embed\n"
      "grad_norm g.embed > + norm2\n"
      "copy @copy_out g.embed > = g.embed'\n"
      "advance_step > ~ step\n"
      "copy @copy_out norm2 > norm2'\n"
      "copy @copy_out target_count > target_count'\n"
      "copy @copy_out applied > applied'\n"
      "advance_applied norm2 > ~ applied\n"
      "report loss_sum target_count norm2 applied lr_table\n"
      "update embed @host g.embed' norm2' target_count' applied' lr_table > ~ m.embed ~ "
      "master.embed ~ w.embed'\n"
      "copy @copy_in w.embed' > w.embed\n"
      "update b1 @host g.b1' norm2' target_count' applied' lr_table > ~ m.b1 ~ master.b1 ~ w.b1'\n"
      "copy @copy_in w.b1' > w.b1\n"
      "update b2 @host g.b2' norm2' target_count' applied' lr_table > ~ m.b2 ~ master.b2 ~ w.b2'\n"
      "copy @copy_in w.b2' > w.b2\n"
      "update head @host g.head' norm2' target_count' applied' lr_table > ~ m.head ~ master.head ~ "
      "w.head'\n"
      "copy @copy_in w.head' > w.head\n");
  CHECK(prove(p, {&graph, with_master(), 1, 1}) == "");
}

TEST_CASE(
    "with updates in backward the host updates a group while the layers below it are computed") {
  const ModelGraph graph = chain(2, false);
  const StepProgram p = offloaded(graph, momentum(), 1, true);
  const std::string text = squeezed(print(p, &graph));
  CAPTURE(text);
  CHECK(text.find("m0 backward b2 b2.u b2.z dh2 w.b2 > dh1 = g.b2\n"
                  "copy @copy_out g.b2 > = g.b2'\n"
                  "grad_norm g.b2 > + norm2\n"
                  "copy @copy_out norm2 > norm2'2\n"
                  "update b2 @host g.b2' norm2'2 target_count' applied' lr_table > ~ m.b2 ~ w.b2'\n"
                  "copy @copy_in w.b2' > w.b2\n"
                  "m0 backward b1 b1.u b1.z dh1 w.b1 > dh0 = g.b1\n") != std::string::npos);
}

TEST_CASE(
    "an optimizer on the host means the same for every model, number of ranks and micro-steps, in "
    "every mode and with every other method") {
  for (const ModelGraph& graph : {chain(3, true), chain(2, false), encoder_decoder(3), pairs(3),
                                  with_loss_scale(chain(2, true))})
    for (const UpdateSpec& update : {momentum(), with_master()})
      for (const int world : {1, 2, 3, 4})
        for (const int stage : {0, 1, 2, 3})
          for (const int micro_steps : {1, 3})
            for (const bool in_backward : {false, true}) {
              if (width % world != 0 || (in_backward && stage > 0) || (world == 1 && stage > 0))
                continue;
              auto p = passes::activation_recomputation(
                  passes::accumulation(plain_program(graph, update), micro_steps), graph,
                  micro_steps == 1 ? RecomputeLevel::full : RecomputeLevel::none);
              if (micro_steps > 1) p = passes::activation_offload(std::move(p));
              if (stage > 0)
                p = passes::zero(std::move(p), graph, update, {{world, world}}, {stage});
              else if (world > 1)
                p = passes::distributed_data_parallel(std::move(p),
                                                      {{world, 1}, in_backward ? 0 : 1 << 20});
              if (in_backward) p = passes::update_in_backward(std::move(p));
              p = passes::optimizer_offload(std::move(p));
              Training t{&graph, update, micro_steps, world};
              t.overflow = {1, world - 1};
              t.update_in_backward = in_backward;
              if (in_backward) t.overflow = {};
              p = passes::lower_collectives(std::move(p), DType::bf16);
              CAPTURE(world, stage, micro_steps, in_backward, print(p, &graph));
              CHECK(prove(p, t, {.steps = 3, .placements = {{.alignment = 8, .overlap = 1}}}) ==
                    "");
            }
}

TEST_CASE(
    "the next step's forward begins beside the updates: each block waits for its own weights "
    "alone") {
  const ModelGraph graph = chain(4, false);
  const StepProgram p = offloaded(graph, with_master());
  const Order order = derive_order(p, plan_memory(p));
  std::vector<std::string> came_back;  // names of weights, in the order of copy_in
  for (const Instruction& i : p.steady)
    if (i.lane == Lane::copy_in) {
      // of weights: what else stood in the lane would wait for all of them, and the forward for it
      REQUIRE(i.op == Op::copy);
      came_back.push_back(p.buffers[static_cast<std::size_t>(i.uses[1].buffer)].name);
    }
  int forwards = 0;
  for (std::size_t k = 0; k < p.steady.size(); ++k) {
    if (p.steady[k].op != Op::forward) continue;
    ++forwards;
    for (const Wait& w : order.steady[k]) {
      CAPTURE(k, static_cast<int>(w.lane));
      CHECK(w.lane != Lane::host);
      if (w.lane == Lane::copy_in && w.back == 1)
        CHECK(came_back.at(static_cast<std::size_t>(w.index)) ==
              "w." + graph.blocks[static_cast<std::size_t>(p.steady[k].block)].name);
    }
  }
  CHECK(forwards == 5);
}

TEST_CASE("a launch begins with the updates of the step before, and launches mean what steps do") {
  for (const ModelGraph& graph : {chain(3, true), with_loss_scale(chain(2, false))})
    for (const int world : {1, 2})
      for (const int stage : {0, 1, 2, 3})
        for (const bool in_backward : {false, true}) {
          if ((in_backward && stage > 0) || (world == 1 && stage > 0)) continue;
          auto p = passes::accumulation(plain_program(graph, with_master()), in_backward ? 1 : 2);
          if (stage > 0)
            p = passes::zero(std::move(p), graph, with_master(), {{world, world}}, {stage});
          else if (world > 1)
            p = passes::distributed_data_parallel(std::move(p),
                                                  {{world, 1}, in_backward ? 0 : 1 << 20});
          if (in_backward) p = passes::update_in_backward(std::move(p));
          const auto groups = graph.groups.size();
          std::vector<OptimizerLocation> locations(groups, OptimizerLocation::host);
          locations[1] = OptimizerLocation::device;
          locations.back() = OptimizerLocation::disk;
          p = passes::optimizer_offload(std::move(p), {locations});
          p = passes::lower_collectives(std::move(p), DType::bf16);
          CAPTURE(world, stage, in_backward, print(p, &graph));
          const auto begin = static_cast<std::ptrdiff_t>(launch_begin(p));
          REQUIRE(begin > 0);
          const auto is_host_update = [](const Instruction& i) {
            return i.op == Op::update && i.lane == Lane::host;
          };
          CHECK(std::count_if(p.steady.begin(), p.steady.begin() + begin, is_host_update) ==
                (in_backward ? static_cast<std::ptrdiff_t>(groups) - 2 : 0));
          Training t{&graph, with_master(), in_backward ? 1 : 2, world};
          t.update_in_backward = in_backward;
          const PlacementOptions placement{.alignment = 8, .overlap = 1};
          CHECK(prove(p, t, {.steps = 3, .placements = {placement}}) == "");
          // at the same bytes, launch by launch
          const Placement at = plan_memory(p, placement);
          StepProgram launches = p;
          std::rotate(launches.steady.begin(), launches.steady.begin() + begin,
                      launches.steady.end());
          CHECK(is_ordered(launches, at, derive_order(launches, at)));
        }
}

TEST_CASE("of single-owner data parallelism rank 0's host updates") {
  const ModelGraph graph = with_loss_scale(chain(2, true));
  const auto plain = passes::accumulation(plain_program(graph, momentum()), 2);
  Roles roles{{}, {0, 1, 1}};
  for (const int rank : {0, 1})
    roles.programs.push_back(
        passes::optimizer_offload(passes::data_parallel(plain, {{3, 1}}, rank)));
  CHECK(prove(roles, {&graph, momentum(), 2, 3}) == "");
}

TEST_CASE(
    "states, exact weights and all but the gradients of a few layers leave the device; the host "
    "has them") {
  const ModelGraph graph = chain(12, false);
  UpdateSpec update = with_master();
  update.states.push_back({"v"});
  const StepProgram plain = plain_program(graph, update), p = passes::optimizer_offload(plain);
  const Bytes weights = width * 4 * static_cast<Bytes>(graph.groups.size());
  CHECK(peak_of(plain, Space::device) - peak_of(p, Space::device) >= 3 * weights);
  CHECK(most_gradients(plain) == weights);
  CHECK(most_gradients(p) <= 2 * width * 4);
  CHECK(peak_of(p, Space::host) >= 5 * weights);
  CHECK(peak_of(p, Space::host) < 5 * weights + weights / 8);
}

TEST_CASE("evaluation has the residents of training at the same places") {
  const ModelGraph graph = chain(3, true);
  for (const int stage : {0, 1, 3}) {
    const StepProgram plain = plain_program(graph, with_master());
    const auto finish = [&](StepProgram p) {
      if (stage > 0) p = passes::zero(std::move(p), graph, with_master(), {{2, 2}}, {stage});
      return passes::optimizer_offload(std::move(p));
    };
    const StepProgram train = finish(plain),
                      p = finish(forward_program(plain, graph, Op::evaluate));
    for (std::size_t b = 0; b < train.buffers.size() && train.buffers[b].resident; ++b) {
      CHECK(p.buffers[b].name == train.buffers[b].name);
      CHECK(p.buffers[b].bytes() == train.buffers[b].bytes());
      CHECK(p.buffers[b].space == train.buffers[b].space);
    }
    CHECK(std::ranges::count(p.buffers, true, &Buffer::resident) ==
          std::ranges::count(train.buffers, true, &Buffer::resident));
    CHECK(check_program(p, plan_memory(p)) == "");
  }
}

TEST_CASE("evaluation with an average has it brought to the device one block ahead") {
  const ModelGraph graph = chain(2, false);
  const UpdateSpec update = averaging();
  const auto evaluated = [&](passes::OptimizerLocation location, bool weights_on_disk, int stage) {
    auto p = forward_program(plain_program(graph, update), graph, Op::evaluate, update.average());
    if (stage > 0) p = passes::zero(std::move(p), graph, update, {{2, 2}}, {stage});
    p = passes::optimizer_offload(
        std::move(p), {.locations = std::vector<passes::OptimizerLocation>(4, location)});
    if (weights_on_disk) p = passes::parameter_offload(std::move(p), {.on_disk = true});
    CHECK(check_program(p, plan_memory(p)) == "");
    return p;
  };
  const auto text_of = [&](passes::OptimizerLocation location, bool weights_on_disk) {
    return squeezed(print(evaluated(location, weights_on_disk, 0), &graph));
  };
  for (const bool weights_on_disk : {false, true}) {
    CHECK(text_of(passes::OptimizerLocation::device, weights_on_disk) ==
          "m0 fetch_batch step > x target\n"
          "m0 forward embed x ema.embed > h0\n"
          "m0 forward b1 h0 ema.b1 > h1\n"
          "m0 forward b2 h1 ema.b2 > h2\n"
          "m0 evaluate head h2 ema.head target > loss_sum target_count\n"
          "report loss_sum target_count\n");
    CHECK(text_of(passes::OptimizerLocation::host, weights_on_disk) ==
          "m0 copy @copy_in ema.embed > ema.embed^\n"
          "m0 fetch_batch step > x target\n"
          "m0 copy @copy_in ema.b1 > ema.b1^\n"
          "m0 forward embed x ema.embed^ > h0\n"
          "m0 copy @copy_in ema.b2 > ema.b2^\n"
          "m0 forward b1 h0 ema.b1^ > h1\n"
          "m0 copy @copy_in ema.head > ema.head^\n"
          "m0 forward b2 h1 ema.b2^ > h2\n"
          "m0 evaluate head h2 ema.head^ target > loss_sum target_count\n"
          "report loss_sum target_count\n");
    CHECK(text_of(passes::OptimizerLocation::disk, weights_on_disk)
              .starts_with("m0 copy @disk ema.embed > ema.embed'\n"
                           "m0 copy @copy_in ema.embed' > ema.embed^\n"));
  }
  for (const int stage : {0, 1, 2, 3})
    for (const auto location : {passes::OptimizerLocation::host, passes::OptimizerLocation::disk}) {
      const StepProgram p = evaluated(location, false, stage);
      CAPTURE(stage, print(p, &graph));
      for (std::size_t k = 0; k < p.steady.size(); ++k) {
        if (p.steady[k].op != Op::copy) continue;
        StepProgram without = p;
        without.steady.erase(without.steady.begin() + static_cast<std::ptrdiff_t>(k));
        CHECK(check_program(without, plan_memory(p)) != "");
      }
    }
}

TEST_CASE(
    "whatever is left out, and copies and updates that are made twice or early, are refused") {
  const ModelGraph graph = chain(2, true);
  for (const int stage : {0, 1, 3}) {
    auto p = passes::accumulation(plain_program(graph, with_master()), 2);
    p = stage > 0 ? passes::zero(std::move(p), graph, with_master(), {{2, 2}}, {stage})
                  : passes::distributed_data_parallel(std::move(p), {{2, 1}});
    p = passes::optimizer_offload(std::move(p));
    const Training t{&graph, with_master(), 2, 2};
    REQUIRE(problem_of(p, t) == "");
    int copies = 0, updates = 0;
    for (std::size_t k = 0; k < p.steady.size(); ++k) {
      CAPTURE(stage, k, print(p, &graph));
      const auto at = [k](StepProgram& q) {
        return q.steady.begin() + static_cast<std::ptrdiff_t>(k);
      };
      const Instruction& i = p.steady[k];
      StepProgram missing = p;
      missing.steady.erase(at(missing));
      CHECK(problem_of(missing, t) != "");
      if (i.op != Op::copy && i.op != Op::update) continue;
      ++(i.op == Op::copy ? copies : updates);
      StepProgram twice = p;
      twice.steady.insert(at(twice), i);
      CHECK(problem_of(twice, t) != "");
      std::size_t source = k;
      while (source > 0 && !meet(p.steady[source - 1], i)) --source;
      if (source == 0) continue;  // of a scalar that nobody writes before it
      StepProgram early = p;
      early.steady.erase(at(early));
      early.steady.insert(early.steady.begin() + static_cast<std::ptrdiff_t>(source - 1), i);
      CHECK(problem_of(early, t) != "");
    }
    CHECK(copies >= 9);
    CHECK(updates == 3);
  }
}

TEST_CASE("what is on a disk is read ahead of its update and written behind it") {
  const ModelGraph graph = chain(1, false);  // embed b1 head
  const auto p = passes::optimizer_offload(
      passes::accumulation(plain_program(graph, with_master()), 1),
      {{OptimizerLocation::device, OptimizerLocation::disk, OptimizerLocation::disk}, 1});
  CHECK(squeezed(print(p, &graph)) ==
        "copy @disk m.b1 > m.b1'\n"
        "copy @disk master.b1 > master.b1'\n"
        "copy @copy_out w.b1 > w.b1'\n"
        "m0 fetch_batch step > x target\n"
        "m0 forward embed x w.embed > h0\n"
        "m0 forward b1 h0 w.b1 > h1 b1.u b1.z\n"
        "m0 loss head h1 w.head target > dh1 = g.head loss_sum target_count\n"
        "grad_norm g.head > norm2\n"
        "copy @copy_out g.head > = g.head'\n"
        "m0 backward b1 b1.u b1.z dh1 w.b1 > dh0 = g.b1\n"
        "grad_norm g.b1 > + norm2\n"
        "copy @copy_out g.b1 > = g.b1'\n"
        "m0 backward embed x dh0 > = g.embed\n"
        "grad_norm g.embed > + norm2\n"
        "advance_step > ~ step\n"
        "update embed g.embed norm2 target_count applied lr_table > ~ m.embed ~ master.embed ~ "
        "w.embed\n"
        "copy @disk m.head > m.head'\n"
        "copy @disk master.head > master.head'\n"
        "copy @copy_out w.head > w.head'\n"
        "copy @copy_out norm2 > norm2'\n"
        "copy @copy_out target_count > target_count'\n"
        "copy @copy_out applied > applied'\n"
        "advance_applied norm2 > ~ applied\n"
        "report loss_sum target_count norm2 applied lr_table\n"
        "update b1 @host g.b1' norm2' target_count' applied' lr_table > ~ m.b1' ~ master.b1' ~ "
        "w.b1'\n"
        "copy @disk m.b1' > m.b1\n"
        "copy @disk master.b1' > master.b1\n"
        "copy @copy_in w.b1' > w.b1\n"
        "update head @host g.head' norm2' target_count' applied' lr_table > ~ m.head' ~ "
        "master.head' ~ w.head'\n"
        "copy @disk m.head' > m.head\n"
        "copy @disk master.head' > master.head\n"
        "copy @copy_in w.head' > w.head\n");
  CHECK(prove(p, {&graph, with_master(), 1, 1}) == "");
}

TEST_CASE(
    "whoever keeps a group's optimizer, the device, the host or a disk, it means the same in every "
    "mode") {
  for (const ModelGraph& graph :
       {chain(3, true), encoder_decoder(2), with_loss_scale(chain(2, true))})
    for (const int world : {1, 2, 4})
      for (const int stage : {0, 1, 2, 3})
        for (const bool in_backward : {false, true})
          for (const int pattern : {0, 1, 2}) {
            if ((in_backward && stage > 0) || (world == 1 && stage > 0)) continue;
            auto p = passes::accumulation(plain_program(graph, with_master()), 2);
            if (stage > 0)
              p = passes::zero(std::move(p), graph, with_master(), {{world, world}}, {stage});
            else if (world > 1)
              p = passes::distributed_data_parallel(std::move(p),
                                                    {{world, 1}, in_backward ? 0 : 1 << 20});
            if (in_backward) p = passes::update_in_backward(std::move(p));
            passes::OptimizerOffloadOptions keep{{}, 1 + pattern};
            for (std::size_t g = 0; g < graph.groups.size(); ++g)
              keep.locations.push_back(pattern == 0
                                           ? OptimizerLocation::disk
                                           : static_cast<OptimizerLocation>(
                                                 (g + static_cast<std::size_t>(pattern)) % 3));
            p = passes::optimizer_offload(std::move(p), keep);
            Training t{&graph, with_master(), 2, world};
            t.update_in_backward = in_backward;
            p = passes::lower_collectives(std::move(p), DType::bf16);
            CAPTURE(world, stage, in_backward, pattern, print(p, &graph));
            CHECK(prove(p, t, {.steps = 3, .placements = {{.alignment = 8, .overlap = 1}}}) == "");
          }
}

TEST_CASE("host memory for what is on a disk is that of a few groups, however many there are") {
  const Bytes block = 4096;  // in which buffers lie there
  const auto pool = [&](int layers, int read_ahead) {
    const ModelGraph graph = chain(layers, false);
    const std::vector<OptimizerLocation> locations(graph.groups.size(), OptimizerLocation::disk);
    const auto p =
        passes::optimizer_offload(plain_program(graph, with_master()), {locations, read_ahead});
    // m, master, w
    const Bytes gradients = block * static_cast<Bytes>(graph.groups.size()), a_group = 3 * block;
    const Placement at = plan_memory(p);
    CHECK(at.peak_of(Space::disk) == 2 * gradients);
    return static_cast<double>(at.peak_of(Space::host) - gradients) / static_cast<double>(a_group);
  };
  for (const int ahead : {1, 2, 4}) {
    CAPTURE(ahead, pool(12, ahead), pool(40, ahead));
    CHECK(pool(40, ahead) == pool(12, ahead));
    CHECK(pool(12, ahead) >= ahead + 1);
    CHECK(pool(12, ahead) <= ahead + 2 + 2);  // that of the update before, and scalars
  }
}

TEST_CASE(
    "whatever is left out of what goes with a disk, and transfers that are made early, are "
    "refused") {
  const ModelGraph graph = chain(2, true);
  const auto p = passes::optimizer_offload(
      passes::accumulation(plain_program(graph, with_master()), 2),
      {std::vector<OptimizerLocation>(graph.groups.size(), OptimizerLocation::disk), 2});
  const Training t{&graph, with_master(), 2, 1};
  REQUIRE(problem_of(p, t) == "");
  int transfers = 0;
  for (std::size_t k = 0; k < p.steady.size(); ++k) {
    if (p.steady[k].lane != Lane::disk) continue;
    ++transfers;
    CAPTURE(k, print(p, &graph));
    StepProgram missing = p;
    missing.steady.erase(missing.steady.begin() + static_cast<std::ptrdiff_t>(k));
    CHECK(problem_of(missing, t) != "");
    if (p.buffers[static_cast<std::size_t>(p.steady[k].uses[1].buffer)].space != Space::disk)
      continue;
    StepProgram early = p;  // before the update that it stores
    std::size_t source = k;
    while (!meet(p.steady[source - 1], p.steady[k])) --source;
    early.steady.erase(early.steady.begin() + static_cast<std::ptrdiff_t>(k));
    early.steady.insert(early.steady.begin() + static_cast<std::ptrdiff_t>(source - 1),
                        p.steady[k]);
    CHECK(problem_of(early, t) != "");
  }
  CHECK(transfers == 4 * static_cast<int>(graph.groups.size()));
}

namespace {

/// The host keeps all of it, and gradients leave as bf16.
const passes::OptimizerOffloadOptions rounding{.rounded = true};

std::vector<bool> rounded_of(const ModelGraph& graph,
                             const std::vector<OptimizerLocation>& locations = {}) {
  std::vector<bool> out;
  for (std::size_t g = 0; g < graph.groups.size(); ++g)
    out.push_back(locations.empty() || locations[g] != OptimizerLocation::device);
  return out;
}

}  // namespace

TEST_CASE("gradients that leave as bf16 are rounded behind their norm, into half the bytes") {
  const ModelGraph graph = chain(1, false);
  const StepProgram p = passes::optimizer_offload(plain_program(graph, momentum()), rounding);
  CHECK(
      squeezed(print(p, &graph)) ==
      "m0 fetch_batch step > x target\n"
      "m0 forward embed x w.embed > h0\n"
      "m0 forward b1 h0 w.b1 > h1 b1.u b1.z\n"
      "m0 loss head h1 w.head target > dh1 = g.head loss_sum target_count\n"
      "grad_norm g.head > norm2\n"
      "cast g.head > = bf16.g.head\n"
      "copy @copy_out bf16.g.head > = g.head'\n"
      "m0 backward b1 b1.u b1.z dh1 w.b1 > dh0 = g.b1\n"
      "grad_norm g.b1 > + norm2\n"
      "cast g.b1 > = bf16.g.b1\n"
      "copy @copy_out bf16.g.b1 > = g.b1'\n"
      "m0 backward embed x dh0 > = g.embed\n"
      "grad_norm g.embed > + norm2\n"
      "cast g.embed > = bf16.g.embed\n"
      "copy @copy_out bf16.g.embed > = g.embed'\n"
      "advance_step > ~ step\n"
      "copy @copy_out norm2 > norm2'\n"
      "copy @copy_out target_count > target_count'\n"
      "copy @copy_out applied > applied'\n"
      "advance_applied norm2 > ~ applied\n"
      "report loss_sum target_count norm2 applied lr_table\n"
      "update embed @host g.embed' norm2' target_count' applied' lr_table > ~ m.embed ~ w.embed'\n"
      "copy @copy_in w.embed' > w.embed\n"
      "update b1 @host g.b1' norm2' target_count' applied' lr_table > ~ m.b1 ~ w.b1'\n"
      "copy @copy_in w.b1' > w.b1\n"
      "update head @host g.head' norm2' target_count' applied' lr_table > ~ m.head ~ w.head'\n"
      "copy @copy_in w.head' > w.head\n");
  const StepProgram exact = passes::optimizer_offload(plain_program(graph, momentum()));
  const Bytes gradients = width * 4 * static_cast<Bytes>(graph.groups.size());
  CHECK(peak_of(exact, Space::host) - peak_of(p, Space::host) == gradients / 2);
  CHECK(most_gradients(p) <= 2 * width * 4);
}

TEST_CASE(
    "a gradient that is summed over ranks is rounded beside the next block's backward, which does "
    "not wait for the sum") {
  const ModelGraph graph = chain(3, false);
  const StepProgram p = passes::optimizer_offload(
      passes::distributed_data_parallel(plain_program(graph, momentum()), {{2, 1}, 0}), rounding);
  int casts = 0;
  for (std::size_t k = 0; k < p.steady.size(); ++k) {
    if (p.steady[k].op != Op::cast) continue;
    std::size_t sum = k;
    while (p.steady[sum].op != Op::reduce || !meet(p.steady[sum], p.steady[k])) --sum;
    const auto backwards = std::count_if(p.steady.begin() + static_cast<std::ptrdiff_t>(sum),
                                         p.steady.begin() + static_cast<std::ptrdiff_t>(k),
                                         [](const Instruction& i) { return i.op == Op::backward; });
    const bool last = std::none_of(p.steady.begin() + static_cast<std::ptrdiff_t>(k),
                                   p.steady.end(),
                                   [](const Instruction& i) { return i.op == Op::backward; });
    CHECK((backwards == 1 || last));
    ++casts;
  }
  CHECK(casts == 5);
}

TEST_CASE(
    "gradients that leave as bf16 mean the same in every mode, whoever keeps the optimizer: each "
    "update reads its gradient rounded once, the norm is that of the exact ones") {
  for (const ModelGraph& graph :
       {chain(3, true), encoder_decoder(2), with_loss_scale(chain(2, true))})
    for (const int world : {1, 2, 4})
      for (const int stage : {0, 1, 2, 3})
        for (const bool in_backward : {false, true})
          // the host keeps all; a disk does; each of the three keeps some
          for (const int pattern : {-1, 0, 1}) {
            if ((in_backward && stage > 0) || (world == 1 && stage > 0)) continue;
            auto p = passes::accumulation(plain_program(graph, with_master()), 2);
            if (stage > 0)
              p = passes::zero(std::move(p), graph, with_master(), {{world, world}}, {stage});
            else if (world > 1)
              p = passes::distributed_data_parallel(std::move(p),
                                                    {{world, 1}, in_backward ? 0 : 1 << 20});
            if (in_backward) p = passes::update_in_backward(std::move(p));
            passes::OptimizerOffloadOptions keep = rounding;
            for (std::size_t g = 0; pattern >= 0 && g < graph.groups.size(); ++g)
              keep.locations.push_back(pattern == 0 ? OptimizerLocation::disk
                                                    : static_cast<OptimizerLocation>((g + 1) % 3));
            p = passes::optimizer_offload(std::move(p), keep);
            if (stage == 0 || stage == 3)
              p = passes::parameter_offload(std::move(p), {.on_disk = pattern == 1});
            Training t{&graph, with_master(), 2, world};
            t.overflow = in_backward ? Overflow{} : Overflow{1, world - 1};
            t.update_in_backward = in_backward;
            t.rounded_gradients = rounded_of(graph, keep.locations);
            p = passes::lower_collectives(std::move(p), DType::bf16);
            CAPTURE(world, stage, in_backward, pattern, print(p, &graph));
            CHECK(prove(p, t, {.steps = 3, .placements = {{.alignment = 8, .overlap = 1}}}) == "");
          }
}

TEST_CASE("of single-owner data parallelism rank 0's gradients leave as bf16, and no other's") {
  const ModelGraph graph = chain(2, true);
  const auto plain = passes::accumulation(plain_program(graph, momentum()), 2);
  Roles roles{{}, {0, 1, 1}};
  for (const int rank : {0, 1})
    roles.programs.push_back(
        passes::optimizer_offload(passes::data_parallel(plain, {{3, 1}}, rank), rounding));
  Training t{&graph, momentum(), 2, 3};
  t.rounded_gradients = rounded_of(graph);
  CHECK(prove(roles, t) == "");
  CHECK(std::ranges::count(roles.programs[0].steady, Op::cast, &Instruction::op) ==
        static_cast<int>(graph.groups.size()));
  CHECK(std::ranges::count(roles.programs[1].steady, Op::cast, &Instruction::op) == 0);
}

TEST_CASE(
    "gradients that are not rounded, rounded where nobody asked, or twice, and norms of rounded "
    "ones are refused") {
  const ModelGraph graph = chain(2, true);
  const StepProgram plain = passes::accumulation(plain_program(graph, with_master()), 2);
  const StepProgram exact = passes::optimizer_offload(plain),
                    p = passes::optimizer_offload(plain, rounding);
  Training asked{&graph, with_master(), 2, 1};
  const Training unasked = asked;
  asked.rounded_gradients = rounded_of(graph);
  REQUIRE(problem_of(p, asked) == "");
  CHECK(problem_of(exact, unasked) == "");
  CHECK(problem_of(exact, asked) != "");
  CHECK(problem_of(p, unasked) != "");
  Training one_less = asked;
  one_less.rounded_gradients.back() = false;
  CHECK(problem_of(p, one_less) != "");
  for (std::size_t k = 0; k < p.steady.size(); ++k) {
    const Instruction& i = p.steady[k];
    if (i.op != Op::cast) continue;
    CAPTURE(k, print(p, &graph));
    StepProgram missing = p, copied = p, again = p, of_rounded = p;
    missing.steady.erase(missing.steady.begin() + static_cast<std::ptrdiff_t>(k));
    CHECK(problem_of(missing, asked) != "");
    copied.steady[k].op = Op::copy;
    CHECK(problem_of(copied, asked).find("another type") != std::string::npos);
    Buffer second = again.buffers[static_cast<std::size_t>(i.uses[1].buffer)];
    const BufferId twice = add_buffer(again, second);
    again.steady.insert(again.steady.begin() + static_cast<std::ptrdiff_t>(k) + 1,
                        {Op::cast,
                         none,
                         none,
                         Lane::compute,
                         {Use{i.uses[1].buffer, How::read, CopySlot::from},
                          Use{twice, How::overwrite, CopySlot::to}}});
    again.steady[k + 2].uses[0] = Use{twice, How::read, CopySlot::from};
    CHECK(problem_of(again, asked).find("of the same type") != std::string::npos);
    REQUIRE(p.steady[k - 1].op == Op::grad_norm);
    std::swap(of_rounded.steady[k - 1], of_rounded.steady[k]);
    for (Use& u : of_rounded.steady[k].uses)
      if (u.buffer == i.uses[0].buffer) u = Use{i.uses[1].buffer, u.how, u.slot};
    CHECK(problem_of(of_rounded, asked) != "");
  }
}

TEST_CASE("other passes come before it") {
  const ModelGraph graph = chain(2, true);
  const StepProgram p = offloaded(graph, momentum());
  CHECK_THROWS_AS(passes::update_in_backward(p), trainx::InternalError);
  CHECK_THROWS_AS(passes::optimizer_offload(p), trainx::InternalError);
}

}  // namespace optimizer_offload_test
