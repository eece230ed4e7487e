#include "core/error.hpp"
#include "passes/passes.hpp"
#include "plan/choose/offload.hpp"
#include "plan/expected_kernels.hpp"
#include "plan/memory_plan.hpp"
#include "recipe/recipe.hpp"
#include "support/catch.hpp"
#include "support/golden.hpp"
#include "support/planned_gpt2.hpp"
#include <algorithm>

namespace optimizer_offload_test {

using namespace trainx;

namespace {

plan::RunPlan plan_of(const std::string& more, const std::string& memory = "optimizer_offload: cpu",
                      std::int64_t host_bytes = std::int64_t{16} << 30,
                      const std::string& gpu = "h200", double disk_bytes_per_s = 0) {
  return planned(gpt2_recipe("memory: {" + memory + "}\n" + more),
                 {host_bytes, gpu, {h200_gpu(), h200_gpu()}, disk_bytes_per_s});
}

}  // namespace

TEST_CASE(
    "what is claimed of an optimizer on the host is what the program does, in every precision and "
    "mode") {
  for (const std::string precision : {"fp32", "bf16", "fp16"})
    for (const std::string parallel :
         {"{}", "{mode: ddp, world_size: 2}", "{mode: zero1, world_size: 2}",
          "{mode: zero3, world_size: 2}", "{mode: zero3, world_size: 4, shard_ranks: 2}"})
      for (const std::string offload : {"cpu", "{where: cpu, gradients: bf16}"}) {
        auto recipe = gpt2_recipe("memory: {optimizer_offload: " + offload +
                                  "}\nprecision: " + precision + "\nparallel: " + parallel + "\n");
        recipe.batch.micro_batch_size = {2};  // which four ranks have one of
        const auto plan = planned(recipe, {std::int64_t{16} << 30, "h200", {}, 0});
        CAPTURE(precision, parallel, offload);
        const auto expected = plan::expected_kernels(plan, plan.role().train.back().graph);
        const auto copies = plan::optimizer_copies(plan.role().train.back().program);
        CHECK(expected.gradients_out_bytes == copies.gradients_out);
        CHECK(expected.weights_back_bytes == copies.weights_back);
        CHECK(expected.host_updates == std::ranges::count(plan.role().train.back().program.steady,
                                                          program::Op::update,
                                                          &program::Instruction::op));
        CHECK(expected.host_updates > 10);
        CHECK(expected.gradients_rounded ==
              std::ranges::count(plan.role().train.back().program.steady, program::Op::cast,
                                 &program::Instruction::op));
        CHECK(expected.gradients_rounded == (offload == "cpu" ? 0 : expected.host_updates));
        CHECK(expected.update_launches == 0);
        CHECK(plan::offloaded_bytes(plan.role().train.back().program) == 0);
      }
  const auto plain = plan_of("", "optimizer_offload: none");
  CHECK(plan::expected_kernels(plain, plain.role().train.back().graph).host_updates == 0);
  CHECK(plain.memory.on_host.empty());
}

TEST_CASE(
    "states, exact weights and gradients are the host's; the device keeps what blocks compute "
    "with") {
  const auto plain = plan_of("precision: bf16\n", "optimizer_offload: none"),
             plan = plan_of("precision: bf16\n"),
             shards = plan_of("precision: bf16\nparallel: {mode: zero1, world_size: 2}\n");
  std::int64_t elements = 0;
  for (const auto& g : plan.role().train.back().graph.groups) elements += g.elements;
  CHECK(on_host(plan, "optimizer state on the host") == 8 * elements);
  CHECK(on_host(plan, "master weights on the host") == 2 * elements);
  CHECK(on_host(plan, "weights on the host") == 2 * elements);
  CHECK(on_host(plan, "gradients on the host") == 4 * elements);
  CHECK(on_host(shards, "optimizer state on the host") < 4 * elements + elements / 100);
  CHECK(plain.memory.total_bytes() - plan.memory.total_bytes() > 10 * elements);
}

TEST_CASE("the time of a step has the host's updates in it") {
  const auto plain = plan_of("precision: bf16\n", "optimizer_offload: none"),
             plan = plan_of("precision: bf16\n");
  const double on_host = plan.time->busy_s[static_cast<std::size_t>(program::Lane::host)];
  CHECK(on_host > 0);
  CHECK(plan.time->step_s > plain.time->step_s + on_host * 0.9);
  CHECK(plain.time->busy_s[static_cast<std::size_t>(program::Lane::host)] == 0);
}

TEST_CASE(
    "the host's updates take half the time where its memory is twice as fast; ranks of one host "
    "share it, and hosts are not taken to be alike") {
  const auto updates = [](double bytes_per_s, std::int64_t ranks, std::int64_t ranks_here) {
    facts::Facts f;
    f.hardware.cpu_cores = 8;
    f.hardware.memory_bytes = std::int64_t{64} << 30;
    f.hardware.gpus.assign(static_cast<std::size_t>(ranks_here), h200_gpu());
    f.hardware.local_ranks = ranks_here;
    f.hardware.host_update_bytes_per_s = bytes_per_s;
    f.data = {true, true, 1000, 100, 0, {}, ""};
    const std::string text =
        "model: {type: gpt2, size: 124m}\ndata: {type: stories, sequence_length: 256}\nbatch: "
        "{global_batch_size: 8, micro_batch_size: 4}\nmemory: {optimizer_offload: cpu}\nprecision: "
        "bf16\n";
    return plan::make_run_plan(
        recipe::parse_recipe(text + "parallel: {mode: " + (ranks > 1 ? "ddp" : "single") +
                                 ", world_size: " + std::to_string(ranks) + "}\n",
                             "test")
            .recipe,
        f);
  };
  const auto seconds = [&](double bytes_per_s, std::int64_t ranks, std::int64_t ranks_here) {
    return updates(bytes_per_s, ranks, ranks_here)
        .time->busy_s[static_cast<std::size_t>(program::Lane::host)];
  };
  // beside the fixed cost of an instruction
  const auto alike = [](double a, double b) { return std::abs(a / b - 1) < 0.002; };
  const double one = seconds(70e9, 1, 1);
  CHECK(alike(seconds(140e9, 1, 1), one / 2));
  CHECK(alike(seconds(140e9, 2, 2), one));
  CHECK(alike(seconds(0, 2, 1), seconds(140e9, 2, 1)));
  CHECK(one < seconds(0, 1, 1));  // not known: as fast as copies, 52.6 GB/s
  CHECK(plan::describe(updates(140e9, 1, 1), false).find(" ms at 130 GiB/s") != std::string::npos);
  check_sentence("plan.optimizer_offload/rate_not_measured",
                 line_with(plan::describe(updates(0, 1, 1), false), "not measured"), Numbers::any);
}

TEST_CASE("a machine that cannot hold it is refused with what it would have to hold") {
  const auto refusal = [](const std::string& more, std::int64_t host_bytes) -> std::string {
    try {
      plan_of("precision: bf16\n" + more, "optimizer_offload: cpu", host_bytes, "");
    } catch (const UserError& e) {
      CHECK(e.code() == ExitCode::out_of_memory);
      return e.what();
    }
    return "";
  };
  CHECK(refusal("parallel: {mode: single}\n", std::int64_t{8} << 30).empty());
  const std::string sentence = refusal("parallel: {mode: single}\n", std::int64_t{1} << 30);
  CAPTURE(sentence);
  CHECK(sentence.find("973 MiB") != std::string::npos);
  CHECK(sentence.find("memory.optimizer_offload: cpu+disk") != std::string::npos);
  check_sentence("plan.optimizer_offload/refused", sentence, Numbers::any);
  // its copy is counted
  CHECK(
      refusal("parallel: {mode: single}\ncheckpoint: {asynchronous: true}\n", std::int64_t{3} << 30)
          .find("checkpoint.asynchronous: false") != std::string::npos);
  CHECK(refusal("parallel: {mode: single}\n", std::int64_t{3} << 30).empty());
}

namespace {

const std::string single = "precision: bf16\nparallel: {mode: single}\n";

plan::RunPlan here(const std::string& memory, std::int64_t host_bytes = std::int64_t{16} << 30,
                   double disk_bytes_per_s = 3e9) {
  return plan_of(single, memory, host_bytes, "", disk_bytes_per_s);
}

}  // namespace

TEST_CASE("what is claimed holds wherever the parts of an optimizer are") {
  for (const std::string offload :
       {"{where: disk}", "{where: cpu, share: 0.4}", "{where: disk, share: 0.4}",
        "{where: cpu+disk, host_budget: 2000 MiB}"}) {
    const auto plan = here("optimizer_offload: " + offload);
    const auto expected = plan::expected_kernels(plan, plan.role().train.back().graph);
    const auto copies = plan::optimizer_copies(plan.role().train.back().program);
    CAPTURE(offload, plan.groups_on_device, plan.groups_on_disk);
    CHECK(expected.gradients_out_bytes == copies.gradients_out);
    CHECK(expected.weights_back_bytes == copies.weights_back);
    CHECK(expected.host_updates ==
          std::ranges::count_if(plan.role().train.back().program.steady, [](const auto& i) {
            return i.op == program::Op::update && i.lane == program::Lane::host;
          }));
    CHECK(expected.updates_stay == (plan.groups_on_device > 0));
    CHECK((plan.groups_on_device > 0) == (offload.find("share") != std::string::npos));
  }
}

TEST_CASE("of cpu+disk the host's memory decides what is on the disk: as little as can be") {
  const auto cpu = plan_of(single + "checkpoint: {asynchronous: false}\n", "optimizer_offload: cpu",
                           std::int64_t{16} << 30, ""),
             disk = here("optimizer_offload: {where: disk, read_ahead: 1}");
  const auto need = [](const plan::RunPlan& p) {
    return p.memory.host_bytes + p.memory.beside_host_bytes;
  };
  const std::int64_t low = need(disk), high = need(cpu);
  REQUIRE(low < high);
  CHECK(cpu.memory.disk_bytes == 0);
  int before = 1000;
  for (int k = 1; k <= 4; ++k) {
    const std::int64_t budget = low + (high - low) * k / 4;
    const auto split = here("optimizer_offload: {where: cpu+disk, read_ahead: 1, host_budget: " +
                            std::to_string(budget) + " B}");
    CAPTURE(k, split.groups_on_disk);
    CHECK(need(split) <= budget);
    CHECK(split.groups_on_disk < before);
    CHECK((k == 4) == (split.groups_on_disk == 0));
    CHECK((split.memory.disk_bytes > 0) == (split.groups_on_disk > 0));
    const auto locations = plan::optimizer_locations(split, split.role().train.back().graph.groups);
    CHECK(std::ranges::count(locations, passes::OptimizerLocation::disk) == split.groups_on_disk);
    const auto together = std::ranges::adjacent_find(locations, [](auto a, auto b) {
      return a == passes::OptimizerLocation::disk && b == passes::OptimizerLocation::disk;
    });
    // transfers have updates beside them where others can lie between
    CHECK((together == locations.end()) ==
          (2 * split.groups_on_disk <= static_cast<int>(locations.size())));
    before = split.groups_on_disk;
  }
  CHECK(here("optimizer_offload: cpu+disk").groups_on_disk == 0);
  CHECK_THROWS_AS(here("optimizer_offload: {where: cpu+disk, host_budget: 64 MiB}"), UserError);
}

TEST_CASE("of cpu+disk what is on the disk is decided with the cut of the batch") {
  const auto cut = [](std::int64_t micro_batch_size, const std::string& offload) {
    auto recipe = gpt2_recipe(single + "memory: {optimizer_offload: " + offload + "}\n");
    recipe.batch.micro_batch_size = {};
    if (micro_batch_size > 0) recipe.batch.micro_batch_size = {micro_batch_size};
    return planned(recipe, {std::int64_t{16} << 30, "", {h200_gpu()}, 3e9});
  };
  const auto need = [](const plan::RunPlan& p) {
    return p.memory.host_bytes + p.memory.beside_host_bytes;
  };
  // room for half of it: nothing fits with all of it in the host's memory
  const std::int64_t room = (need(cut(8, "{where: disk}")) + need(cut(8, "{where: cpu+disk}"))) / 2;
  const std::string split = "{where: cpu+disk, host_budget: " + std::to_string(room) + " B}";
  const auto chosen = cut(0, split);
  CHECK(chosen.groups_on_disk > 0);
  CHECK(need(chosen) <= room);
  for (const std::int64_t micro : {1, 2, 4, 8}) {
    const auto written = cut(micro, split);
    CAPTURE(micro, chosen.batch.micro_batch_size, chosen.groups_on_disk, written.groups_on_disk);
    CHECK(chosen.time->step_s <= 1.011 * written.time->step_s);
  }
}

TEST_CASE("a step's time has the disk's in it, and a faster disk takes less") {
  const auto slow = here("optimizer_offload: disk", std::int64_t{16} << 30, 1e9),
             fast = here("optimizer_offload: disk", std::int64_t{16} << 30, 4e9),
             cpu = here("optimizer_offload: cpu");
  const auto copies = plan::optimizer_copies(slow.role().train.back().program);
  const double busy = slow.time->busy_s[static_cast<std::size_t>(program::Lane::disk)];
  CHECK(std::abs(busy / (static_cast<double>(copies.disk.from + copies.disk.to) / 1e9) - 1) < 0.01);
  CHECK(slow.time->step_s > busy * (1 - 1e-9));
  CHECK(slow.time->step_s > 2 * fast.time->step_s);
  CHECK(fast.time->step_s > cpu.time->step_s);
}

TEST_CASE(
    "gradients that leave as bf16 take half the bytes on the host and on their way, and half the "
    "time") {
  const std::string rounded = "{where: cpu, gradients: bf16}";
  for (const std::string& precision :
       {std::string("precision: bf16\n"),
        std::string("precision: bf16\nparallel: {mode: zero2, world_size: 2}\n")}) {
    const auto exact = plan_of(precision),
               plan = plan_of(precision, "optimizer_offload: " + rounded);
    CHECK(on_host(plan, "gradients on the host") * 2 == on_host(exact, "gradients on the host"));
    CHECK(exact.memory.host_bytes - plan.memory.host_bytes ==
          on_host(plan, "gradients on the host"));
    CHECK(plan.memory.total_bytes() <=
          exact.memory.total_bytes() + exact.memory.total_bytes() / 50);
    const auto out = [](const plan::RunPlan& p) {
      return plan::optimizer_copies(p.role().train.back().program).gradients_out;
    };
    CHECK(out(plan) * 2 == out(exact));
  }
  const auto exact = here("optimizer_offload: cpu"), plan = here("optimizer_offload: " + rounded);
  const auto busy = [](const plan::RunPlan& p, program::Lane lane) {
    return p.time->busy_s[static_cast<std::size_t>(lane)];
  };
  CHECK(std::abs(busy(plan, program::Lane::copy_out) / busy(exact, program::Lane::copy_out) - 0.5) <
        0.01);
  CHECK(busy(plan, program::Lane::host) < busy(exact, program::Lane::host));
  // rounding is not for nothing
  CHECK(busy(plan, program::Lane::compute) > busy(exact, program::Lane::compute));
  CHECK(plan.time->step_s < exact.time->step_s);
  const std::int64_t fewer = here("optimizer_offload: " + rounded).memory.host_bytes;
  const auto split = [&](const std::string& gradients) {
    return here("optimizer_offload: {where: cpu+disk, gradients: " + gradients +
                ", host_budget: " + std::to_string(fewer) + " B}")
        .groups_on_disk;
  };
  CHECK(split("bf16") < split("fp32"));
  const auto shared = here("optimizer_offload: {where: cpu, gradients: bf16, share: 0.4}");
  const auto expected = plan::expected_kernels(shared, shared.role().train.back().graph);
  CHECK(expected.gradients_rounded == expected.host_updates);
  CHECK(expected.gradients_out_bytes ==
        plan::optimizer_copies(shared.role().train.back().program).gradients_out);
}

TEST_CASE("a machine that would hold rounded gradients and not exact ones is told so") {
  // for checkpoints, whose copy would give way
  const auto waits = [](const std::string& memory) {
    return plan_of(single + "checkpoint: {asynchronous: false}\n", memory, std::int64_t{16} << 30,
                   "");
  };
  const auto exact = waits("optimizer_offload: cpu"),
             plan = waits("optimizer_offload: {where: cpu, gradients: bf16}");
  const auto need = [](const plan::RunPlan& p) {
    return p.memory.host_bytes + p.memory.beside_host_bytes;
  };
  const std::int64_t between = (need(exact) + need(plan)) / 2;
  const auto refusal = [](const std::string& memory, std::int64_t host_bytes) -> std::string {
    try {
      here(memory, host_bytes);
    } catch (const UserError& e) { return e.what(); }
    return "";
  };
  const std::string remedy = "memory.optimizer_offload.gradients: bf16";
  CHECK(refusal("optimizer_offload: cpu", between).find(remedy) != std::string::npos);
  check_sentence("plan.optimizer_offload/rounded_gradients_would_fit",
                 refusal("optimizer_offload: cpu", between), Numbers::any);
  CHECK(refusal("optimizer_offload: {where: cpu, gradients: bf16}", between).empty());
  // it would not do
  CHECK(refusal("optimizer_offload: cpu", need(plan) / 2).find(remedy) == std::string::npos);
}

TEST_CASE("share: auto leaves on the GPU what is fastest and fits") {
  const auto none = here("optimizer_offload: cpu"),
             all = here("optimizer_offload: {where: cpu, share: auto}");
  CHECK(all.time->step_s < 0.6 * none.time->step_s);
  // there is room for all of it
  CHECK(all.recipe.memory.optimizer_offload.where == recipe::OptimizerOffload::none);
  CHECK(all.memory.host_bytes == 0);
  const auto beside_weights =
      here("parameter_offload: disk, optimizer_offload: {where: cpu, share: auto, read_ahead: 3}",
           std::int64_t{16} << 30, 1e12);
  CHECK(beside_weights.recipe.memory.optimizer_offload.where == recipe::OptimizerOffload::none);
  // which is that of weights, too
  CHECK(beside_weights.recipe.memory.optimizer_offload.read_ahead == 3);
  const std::int64_t between = none.memory.total_bytes() +
                               (all.memory.total_bytes() - none.memory.total_bytes()) / 2;
  const auto half = here(
      "optimizer_offload: {where: cpu, share: auto}, budget: " + std::to_string(between) + " B");
  CHECK(half.memory.total_bytes() <= between);
  CHECK(half.groups_on_device > 0);
  CHECK(half.groups_on_device < static_cast<int>(half.role().train.back().graph.groups.size()));
  CHECK(half.time->step_s < none.time->step_s);
  // The same once more from what was resolved.
  const auto again = here("optimizer_offload: {where: cpu, share: " +
                          std::to_string(*half.recipe.memory.optimizer_offload.share.value + 1e-6) +
                          "}");
  CHECK(again.groups_on_device == half.groups_on_device);
}

}  // namespace optimizer_offload_test
