#include "passes/passes.hpp"
#include "program/print.hpp"
#include "support/catch.hpp"
#include "support/toy/prove.hpp"
#include "support/toy/text.hpp"

namespace parameter_offload_test {

using namespace toy;

namespace {

UpdateSpec with_master() {
  UpdateSpec update = momentum();
  update.master = Master::fp32;
  return update;
}

/// Most that lies there at once of weights.
Bytes most_weights(const StepProgram& p, Space space = Space::device) {
  const auto lives = lifetimes(p);
  Bytes most = 0;
  for (int k = 0; k < static_cast<int>(p.steady.size()); ++k) {
    Bytes alive = 0;
    for (std::size_t b = 0; b < lives.size(); ++b)
      for (const Interval& i : lives[b])
        if (p.buffers[b].role == Role::parameter && p.buffers[b].space == space && i.first <= k &&
            k <= i.last)
          alive += p.buffers[b].bytes();
    most = std::max(most, alive);
  }
  return most;
}

Bytes resident_weights(const StepProgram& p, Space space) {
  Bytes all = 0;
  for (const Buffer& b : p.buffers)
    if (b.role == Role::parameter && b.resident && b.space == space) all += b.bytes();
  return all;
}

}  // namespace

TEST_CASE(
    "weights come in one block ahead, forward and backward; an update has its group's brought in "
    "one group ahead, and takes them out") {
  const ModelGraph graph = chain(4, false);
  const StepProgram p = passes::parameter_offload(plain_program(graph, momentum()));
  CHECK(squeezed(print(p, &graph)) ==
        "m0 copy @copy_in w.embed > w.embed^\n"
        "m0 fetch_batch step > x target\n"
        "m0 copy @copy_in w.b1 > w.b1^\n"
        "m0 forward embed x w.embed^ > h0\n"
        "m0 copy @copy_in w.b2 > w.b2^\n"
        "m0 forward b1 h0 w.b1^ > h1 b1.u b1.z\n"
        "m0 copy @copy_in w.b3 > w.b3^\n"
        "m0 forward b2 h1 w.b2^ > h2 b2.u b2.z\n"
        "m0 copy @copy_in w.b4 > w.b4^\n"
        "m0 forward b3 h2 w.b3^ > h3 b3.u b3.z\n"
        "m0 copy @copy_in w.head > w.head^\n"
        "m0 forward b4 h3 w.b4^ > h4 b4.u b4.z\n"
        "m0 loss head h4 w.head^ target > dh4 = g.head loss_sum target_count\n"
        "m0 copy @copy_in w.b3 > w.b3^2\n"
        "m0 backward b4 b4.u b4.z dh4 w.b4^ > dh3 = g.b4\n"
        "m0 copy @copy_in w.b2 > w.b2^2\n"
        "m0 backward b3 b3.u b3.z dh3 w.b3^2 > dh2 = g.b3\n"
        "m0 copy @copy_in w.b1 > w.b1^2\n"
        "m0 backward b2 b2.u b2.z dh2 w.b2^2 > dh1 = g.b2\n"
        "m0 backward b1 b1.u b1.z dh1 w.b1^2 > dh0 = g.b1\n"
        "copy @copy_in w.embed > w.embed^2\n"
        "m0 backward embed x dh0 > = g.embed\n"
        "advance_step > ~ step\n"
        "grad_norm g.embed g.b1 g.b2 g.b3 g.b4 g.head > norm2\n"
        "copy @copy_in w.b1 > w.b1^3\n"
        "update embed g.embed norm2 target_count applied lr_table > ~ m.embed ~ w.embed^2\n"
        "copy @copy_out w.embed^2 > w.embed\n"
        "copy @copy_in w.b2 > w.b2^3\n"
        "update b1 g.b1 norm2 target_count applied lr_table > ~ m.b1 ~ w.b1^3\n"
        "copy @copy_out w.b1^3 > w.b1\n"
        "copy @copy_in w.b3 > w.b3^3\n"
        "update b2 g.b2 norm2 target_count applied lr_table > ~ m.b2 ~ w.b2^3\n"
        "copy @copy_out w.b2^3 > w.b2\n"
        "copy @copy_in w.b4 > w.b4^2\n"
        "update b3 g.b3 norm2 target_count applied lr_table > ~ m.b3 ~ w.b3^3\n"
        "copy @copy_out w.b3^3 > w.b3\n"
        "copy @copy_in w.head > w.head^2\n"
        "update b4 g.b4 norm2 target_count applied lr_table > ~ m.b4 ~ w.b4^2\n"
        "copy @copy_out w.b4^2 > w.b4\n"
        "update head g.head norm2 target_count applied lr_table > ~ m.head ~ w.head^2\n"
        "copy @copy_out w.head^2 > w.head\n"
        "advance_applied norm2 > ~ applied\n"
        "report loss_sum target_count norm2 applied lr_table\n");
  CHECK(prove(p, {&graph, momentum(), 1, 1}) == "");
}

TEST_CASE(
    "weights on a disk are read into the host ahead of their copies to the device; an update there "
    "has its group's written back") {
  const ModelGraph graph = chain(2, false);
  const StepProgram p = passes::parameter_offload(plain_program(graph, momentum()),
                                                  {.on_disk = true, .read_ahead = 1});
  CHECK(squeezed(print(p, &graph)) ==
        "m0 copy @disk w.embed > w.embed'\n"
        "m0 copy @copy_in w.embed' > w.embed^\n"
        "m0 copy @disk w.b1 > w.b1'\n"
        "m0 fetch_batch step > x target\n"
        "m0 copy @copy_in w.b1' > w.b1^\n"
        "m0 copy @disk w.b2 > w.b2'\n"
        "m0 forward embed x w.embed^ > h0\n"
        "m0 copy @copy_in w.b2' > w.b2^\n"
        "m0 copy @disk w.head > w.head'\n"
        "m0 forward b1 h0 w.b1^ > h1 b1.u b1.z\n"
        "m0 copy @copy_in w.head' > w.head^\n"
        "m0 forward b2 h1 w.b2^ > h2 b2.u b2.z\n"
        "m0 copy @disk w.b1 > w.b1'2\n"
        "m0 loss head h2 w.head^ target > dh2 = g.head loss_sum target_count\n"
        "m0 copy @copy_in w.b1'2 > w.b1^2\n"
        "m0 backward b2 b2.u b2.z dh2 w.b2^ > dh1 = g.b2\n"
        "copy @disk w.embed > w.embed'2\n"
        "m0 backward b1 b1.u b1.z dh1 w.b1^2 > dh0 = g.b1\n"
        "copy @copy_in w.embed'2 > w.embed^2\n"
        "copy @disk w.b1 > w.b1'3\n"
        "m0 backward embed x dh0 > = g.embed\n"
        "advance_step > ~ step\n"
        "grad_norm g.embed g.b1 g.b2 g.head > norm2\n"
        "copy @copy_in w.b1'3 > w.b1^3\n"
        "copy @disk w.b2 > w.b2'2\n"
        "update embed g.embed norm2 target_count applied lr_table > ~ m.embed ~ w.embed^2\n"
        "copy @copy_out w.embed^2 > w.embed'3\n"
        "copy @disk w.embed'3 > w.embed\n"
        "copy @copy_in w.b2'2 > w.b2^2\n"
        "copy @disk w.head > w.head'2\n"
        "update b1 g.b1 norm2 target_count applied lr_table > ~ m.b1 ~ w.b1^3\n"
        "copy @copy_out w.b1^3 > w.b1'4\n"
        "copy @disk w.b1'4 > w.b1\n"
        "copy @copy_in w.head'2 > w.head^2\n"
        "update b2 g.b2 norm2 target_count applied lr_table > ~ m.b2 ~ w.b2^2\n"
        "copy @copy_out w.b2^2 > w.b2'3\n"
        "copy @disk w.b2'3 > w.b2\n"
        "update head g.head norm2 target_count applied lr_table > ~ m.head ~ w.head^2\n"
        "copy @copy_out w.head^2 > w.head'3\n"
        "copy @disk w.head'3 > w.head\n"
        "advance_applied norm2 > ~ applied\n"
        "report loss_sum target_count norm2 applied lr_table\n");
  CHECK(prove(p, {&graph, momentum(), 1, 1}) == "");
}

TEST_CASE(
    "an update on the host of weights on a disk is made over what was read ahead of it, and "
    "written behind it; whoever keeps the states") {
  const ModelGraph graph = chain(1, false);
  const auto behind_report = [&](passes::OptimizerLocation location) {
    const auto p = passes::parameter_offload(
        passes::optimizer_offload(
            plain_program(graph, momentum()),
            {.locations = std::vector<passes::OptimizerLocation>(3, location)}),
        {.on_disk = true, .read_ahead = 1});
    CHECK(prove(p, {&graph, momentum(), 1, 1}) == "");
    const std::string text = squeezed(print(p, &graph));
    return text.substr(text.find("report"));
  };
  CHECK(
      behind_report(passes::OptimizerLocation::host) ==
      "report loss_sum target_count norm2 applied lr_table\n"
      "copy @disk w.b1 > w.b1'2\n"
      "update embed @host g.embed' norm2' target_count' applied' lr_table > ~ m.embed ~ w.embed'2\n"
      "copy @disk w.embed'2 > w.embed\n"
      "copy @disk w.head > w.head'2\n"
      "update b1 @host g.b1' norm2' target_count' applied' lr_table > ~ m.b1 ~ w.b1'2\n"
      "copy @disk w.b1'2 > w.b1\n"
      "update head @host g.head' norm2' target_count' applied' lr_table > ~ m.head ~ w.head'2\n"
      "copy @disk w.head'2 > w.head\n");
  CHECK(behind_report(passes::OptimizerLocation::disk) ==
        "report loss_sum target_count norm2 applied lr_table\n"
        "copy @disk w.b1 > w.b1'2\n"
        "update embed @host g.embed' norm2' target_count' applied' lr_table > ~ m.embed' ~ "
        "w.embed'2\n"
        "copy @disk w.embed'2 > w.embed\n"
        "copy @disk m.embed' > m.embed\n"
        "copy @disk m.head > m.head'\n"
        "copy @disk w.head > w.head'2\n"
        "update b1 @host g.b1' norm2' target_count' applied' lr_table > ~ m.b1' ~ w.b1'2\n"
        "copy @disk w.b1'2 > w.b1\n"
        "copy @disk m.b1' > m.b1\n"
        "update head @host g.head' norm2' target_count' applied' lr_table > ~ m.head' ~ w.head'2\n"
        "copy @disk w.head'2 > w.head\n"
        "copy @disk m.head' > m.head\n");
}

TEST_CASE(
    "weights elsewhere mean the same for every model, number of ranks and micro-steps, with and "
    "without shards and every other method") {
  struct Where {
    bool updates_on_host = false, on_disk = false;
  };
  for (const ModelGraph& graph : {chain(3, true), chain(5, false), encoder_decoder(3), pairs(3),
                                  with_loss_scale(chain(2, true))})
    for (const UpdateSpec& update : {momentum(), with_master()})
      for (const int world : {1, 2, 3, 4})
        for (const int stage : {0, 3})
          for (const int micro_steps : {1, 3})
            for (const bool in_backward : {false, true})
              for (const auto [updates_on_host, on_disk] :
                   {Where{}, Where{true}, Where{false, true}, Where{true, true}}) {
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
                if (updates_on_host) p = passes::optimizer_offload(std::move(p));
                p = passes::parameter_offload(std::move(p), {on_disk, world});
                Training t{&graph, update, micro_steps, world};
                t.overflow = {1, world - 1};
                t.update_in_backward = in_backward;
                if (in_backward) t.overflow = {};
                p = passes::lower_collectives(std::move(p), DType::bf16);
                CAPTURE(world, stage, micro_steps, in_backward, updates_on_host, on_disk,
                        print(p, &graph));
                CHECK(prove(p, t, {.steps = 3, .placements = {{.alignment = 8, .overlap = 1}}}) ==
                      "");
              }
}

TEST_CASE(
    "weights elsewhere go together with an optimizer in three places, in every order of its "
    "groups") {
  for (const ModelGraph& graph : {chain(3, true), encoder_decoder(2)})
    for (const int world : {1, 2})
      for (const int stage : {0, 3})
        for (const bool in_backward : {false, true})
          for (const bool on_disk : {false, true})
            for (const int first : {0, 1, 2})
              for (const int read_ahead : {1, 4}) {
                if ((in_backward && stage > 0) || (world == 1 && stage > 0)) continue;
                auto p = passes::accumulation(plain_program(graph, with_master()), 2);
                if (stage > 0)
                  p = passes::zero(std::move(p), graph, with_master(), {{world, world}}, {stage});
                else if (world > 1)
                  p = passes::distributed_data_parallel(std::move(p),
                                                        {{world, 1}, in_backward ? 0 : 1 << 20});
                if (in_backward) p = passes::update_in_backward(std::move(p));
                passes::OptimizerOffloadOptions keep{{}, read_ahead};
                for (std::size_t g = 0; g < graph.groups.size(); ++g)
                  keep.locations.push_back(
                      static_cast<passes::OptimizerLocation>((static_cast<int>(g) + first) % 3));
                p = passes::parameter_offload(passes::optimizer_offload(std::move(p), keep),
                                              {on_disk, read_ahead});
                Training t{&graph, with_master(), 2, world};
                t.overflow = in_backward ? Overflow{} : Overflow{1, world - 1};
                t.update_in_backward = in_backward;
                p = passes::lower_collectives(std::move(p), DType::bf16);
                CAPTURE(world, stage, in_backward, on_disk, first, read_ahead, print(p, &graph));
                CHECK(resident_weights(p, Space::device) == 0);
                CHECK(resident_weights(p, on_disk ? Space::host : Space::disk) == 0);
                CHECK(prove(p, t, {.steps = 3, .placements = {{.alignment = 8, .overlap = 1}}}) ==
                      "");
              }
}

TEST_CASE(
    "the host holds the weights on a disk of as many blocks as are read ahead, however many there "
    "are") {
  const auto most_on_host = [](int layers, int read_ahead, bool updates_on_host) {
    auto p = plain_program(chain(layers, false), with_master());
    if (updates_on_host)
      p = passes::optimizer_offload(
          std::move(p), {.locations = std::vector<passes::OptimizerLocation>(
                             static_cast<std::size_t>(layers) + 2, passes::OptimizerLocation::disk),
                         .read_ahead = read_ahead});
    return most_weights(
        passes::parameter_offload(std::move(p), {.on_disk = true, .read_ahead = read_ahead}),
        Space::host);
  };
  for (const bool updates_on_host : {false, true}) {
    CHECK(most_on_host(24, 2, updates_on_host) == most_on_host(10, 2, updates_on_host));
    CHECK(most_on_host(24, 2, updates_on_host) < most_on_host(24, 4, updates_on_host));
    CHECK(most_on_host(24, 2, updates_on_host) <= 4 * width * 4);
  }
}

TEST_CASE(
    "the device holds the weights of a few blocks, however many there are; with updates on the "
    "host there is one copy, and nothing is copied back") {
  for (const bool updates_on_host : {false, true}) {
    const auto with = [&](int layers) {
      auto p = plain_program(chain(layers, false), with_master());
      if (updates_on_host) p = passes::optimizer_offload(std::move(p));
      return passes::parameter_offload(std::move(p));
    };
    const StepProgram few = with(6), many = with(24);
    CHECK(most_weights(many) == most_weights(few));
    CHECK(resident_weights(many, Space::device) == 0);
    CHECK(resident_weights(many, Space::host) ==
          resident_weights(plain_program(chain(24, false), with_master()), Space::device));
    int out = 0;
    for (const Instruction& i : many.steady)
      for (const Use& u : i.uses)
        out += i.op == Op::copy && u.how == How::overwrite &&
               many.buffers[static_cast<std::size_t>(u.buffer)].role == Role::parameter &&
               many.buffers[static_cast<std::size_t>(u.buffer)].space == Space::host;
    CHECK(out == (updates_on_host ? 0 : 26));
  }
}

TEST_CASE("a copy that is missing, in another place or of another group is found out") {
  const ModelGraph graph = chain(3, false);
  for (const bool on_disk : {false, true}) {
    const StepProgram p =
        passes::parameter_offload(plain_program(graph, momentum()), {.on_disk = on_disk});
    const Training t{&graph, momentum(), 1, 1};
    REQUIRE(prove(p, t) == "");
    const Reference reference = as_reference(t);
    for (std::size_t k = 0; k < p.steady.size(); ++k) {
      if (p.steady[k].op != Op::copy) continue;
      StepProgram without = p;
      without.steady.erase(without.steady.begin() + static_cast<std::ptrdiff_t>(k));
      CAPTURE(k, on_disk);
      CHECK(check_program(without, unplaced(without), &reference) != "");
    }
  }
}

TEST_CASE("weights of groups that stay are neither moved nor copied") {
  const ModelGraph graph = chain(4, false);
  std::vector<bool> stay(graph.groups.size(), true);
  stay[2] = false;
  const StepProgram p = passes::parameter_offload(plain_program(graph, momentum()), {.stay = stay});
  int copied = 0;
  for (const Instruction& i : p.steady)
    if (i.op == Op::copy && i.lane == Lane::copy_in) {
      ++copied;
      CHECK(p.buffers[static_cast<std::size_t>(i.uses[0].buffer)].index == 2);
    }
  CHECK(copied > 0);
  CHECK(resident_weights(p, Space::host) + resident_weights(p, Space::device) ==
        resident_weights(plain_program(graph, momentum()), Space::device));
  for (const Buffer& b : p.buffers)
    if (b.role == Role::parameter && b.resident) CHECK((b.space == Space::host) == (b.index == 2));
}

}  // namespace parameter_offload_test
