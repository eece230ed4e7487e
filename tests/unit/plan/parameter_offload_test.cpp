#include "core/error.hpp"
#include "plan/expected_kernels.hpp"
#include "plan/memory_plan.hpp"
#include "recipe/recipe.hpp"
#include "support/catch.hpp"
#include "support/planned_gpt2.hpp"
#include "support/golden.hpp"
#include <algorithm>

namespace parameter_offload_test {

using namespace trainx;

namespace {

plan::RunPlan plan_of(const std::string& memory, const std::string& more = "precision: bf16\n",
                      std::int64_t host_bytes = std::int64_t{64} << 30,
                      const std::string& gpu = "h200") {
  return planned(gpt2_recipe("memory: {" + memory + "}\n" + more), {host_bytes, gpu, {h200_gpu()}});
}

std::int64_t category(const plan::RunPlan& plan, const std::string& name) {
  for (const auto& [category, bytes] : plan.memory.categories)
    if (category == name) return bytes;
  return 0;
}

std::int64_t elements_of(const plan::RunPlan& plan) {
  std::int64_t elements = 0;
  for (const auto& g : plan.role().train.back().graph.groups) elements += g.elements;
  return elements;
}

const std::string away = "parameter_offload: cpu";

/// What a step copies of weights, which is what is claimed, at least; no update gives weights back.
plan::ParameterCopies copies_claimed(const plan::RunPlan& plan) {
  const auto expected = plan::expected_kernels(plan, plan.role().train.back().graph);
  const auto copies = plan::parameter_copies(plan.role().train.back().program);
  CHECK(expected.parameters_in_bytes > 0);
  CHECK(expected.parameters_in_bytes <= copies.in);
  CHECK(expected.parameters_out_bytes == copies.out);
  CHECK(expected.weights_back_bytes == 0);
  return copies;
}

}  // namespace

TEST_CASE(
    "weights are the host's; the GPU has those of the blocks under way, or of its share of them") {
  const auto here = plan_of("activation_checkpoint: none"), plan = plan_of(away),
             both = plan_of(away + ", optimizer_offload: cpu");
  const std::int64_t elements = elements_of(plan);
  CHECK(on_host(plan, "weights on the host") == 2 * elements);
  // those that updates write, and no others
  CHECK(on_host(both, "weights on the host") == 2 * elements);
  CHECK(category(here, "weights") == 2 * elements);
  std::vector<std::int64_t> sizes;
  for (const auto& g : plan.role().train.back().graph.groups) sizes.push_back(2 * g.elements);
  std::ranges::sort(sizes, std::greater<>());
  CHECK(category(plan, "weights") <= sizes[0] + sizes[1] + sizes[2]);  // of 26
  CHECK(here.memory.arena_bytes - plan.memory.arena_bytes > elements);
  CHECK(both.memory.arena_bytes < plan_of("optimizer_offload: cpu").memory.arena_bytes - elements);
  const std::string shards = "precision: bf16\nparallel: {mode: zero3, world_size: 2}\n";
  const auto sharded = plan_of(away, shards);
  CHECK(on_host(sharded, "weights on the host") < elements + elements / 100);
  CHECK(sharded.memory.arena_bytes <
        plan_of("activation_checkpoint: none", shards).memory.arena_bytes);
}

TEST_CASE(
    "what is claimed of weights on the host is what the program does at least, in every precision "
    "and mode, wherever updates are made") {
  for (const std::string precision : {"fp32", "bf16", "fp16"})
    for (const std::string mode : {"single", "ddp", "zero3"})
      for (const bool updates_on_host : {false, true}) {
        const auto plan = plan_of(
            away + (updates_on_host ? ", optimizer_offload: cpu" : ""),
            "precision: " + precision +
                (mode == "single" ? "\n" : "\nparallel: {mode: " + mode + ", world_size: 2}\n"));
        CAPTURE(precision, mode, updates_on_host);
        const auto copies = copies_claimed(plan);
        CHECK((copies.out > 0) == !updates_on_host);
        CHECK(plan::optimizer_copies(plan.role().train.back().program).weights_back == 0);
      }
  const auto plain = plan_of("activation_checkpoint: none");
  CHECK(plan::expected_kernels(plain, plain.role().train.back().graph).parameters_in_bytes == 0);
  CHECK(plan::parameter_copies(plain.role().train.back().program).in == 0);
}

TEST_CASE("what is claimed holds wherever the optimizer and weights are") {
  for (const std::string weights : {"cpu", "disk"})
    for (const std::string mode : {"single", "zero3"})
      for (const std::string offload : {"none", "cpu", "{where: disk}", "{where: cpu, share: 0.4}",
                                        "{where: disk, share: 0.4}"}) {
        const auto plan =
            plan_of("parameter_offload: " + weights + ", optimizer_offload: " + offload,
                    "precision: bf16\nparallel: {mode: " + mode +
                        (mode == "single" ? "}\n" : ", world_size: 2}\n"));
        CAPTURE(weights, mode, offload);
        const auto copies = copies_claimed(plan);
        CHECK((copies.out > 0) == (offload == "none" || plan.groups_on_device > 0));
        CHECK(plan::expected_kernels(plan, plan.role().train.back().graph).weights_on_disk ==
              (weights == "disk"));
        CHECK((copies.disk.from > 0) == (weights == "disk"));
        CHECK((copies.disk.to > 0) == (weights == "disk"));
        CHECK((plan::optimizer_copies(plan.role().train.back().program).disk.to > 0) ==
              (offload.find("disk") != std::string::npos));
      }
}

TEST_CASE(
    "weights on a disk take host memory for those that are read ahead, and their bytes of the "
    "file") {
  const std::string on_disk =
      "parameter_offload: disk, optimizer_offload: {folder: /scratch, read_ahead: ";
  const auto host = plan_of(away), disk = plan_of(on_disk + "1}"), far = plan_of(on_disk + "8}"),
             both = plan_of("parameter_offload: disk, optimizer_offload: disk");
  const std::int64_t elements = elements_of(disk);
  CHECK(disk.memory.disk_bytes >= 2 * elements);
  CHECK(disk.memory.disk_bytes < 2 * elements + elements / 100);
  // and both moments, and the low 16 bits of each weight
  CHECK(both.memory.disk_bytes >= 12 * elements);
  CHECK(on_host(disk, "weights on the host") == 0);
  CHECK(on_host(disk, "weights on their way") > 0);
  CHECK(disk.memory.host_bytes < host.memory.host_bytes);
  CHECK(far.memory.host_bytes > disk.memory.host_bytes);
  CHECK(category(disk, "weights") == category(host, "weights"));
  CHECK(plan::describe(disk, false).find("in /scratch") != std::string::npos);
  const auto copies = plan::parameter_copies(disk.role().train.back().program);
  CHECK(copies.disk.from == copies.in);
  CHECK(copies.disk.to == copies.out);
  const auto timed = [&](const std::string& memory) {
    return planned(gpt2_recipe("memory: {" + memory + "}\nprecision: bf16\n"),
                   {std::int64_t{64} << 30, "", {h200_gpu()}, 3e9});
  };
  const auto slow = timed(on_disk + "1}");
  CHECK(slow.time->step_s > timed(away).time->step_s);
  CHECK(std::abs(slow.time->busy_s[static_cast<std::size_t>(program::Lane::disk)] /
                     (static_cast<double>(copies.disk.from + copies.disk.to) / 3e9) -
                 1) < 0.01);
}

TEST_CASE("the time of a step has the copies that nothing hides") {
  const auto here = plan_of("activation_checkpoint: none"), plan = plan_of(away);
  CHECK(plan.time->busy_s[static_cast<std::size_t>(program::Lane::copy_in)] > 0);
  CHECK(plan.time->step_s > here.time->step_s);
}

TEST_CASE(
    "a machine that cannot hold the weights is refused; the modes that hold all of them on the GPU "
    "are too") {
  const std::string refusal = user_error_of([] {
    plan_of(away, "precision: bf16\nparallel: {mode: single}\n", std::int64_t{1} << 28, "");
  });
  CHECK(refusal.find("memory.parameter_offload: disk") != std::string::npos);
  check_error("plan.parameter_offload/refused", 71, refusal, Numbers::any);
  for (const std::string mode : {"dp", "zero1", "zero2"})
    CHECK(user_error_of([&] {
            plan_of(away, "precision: bf16\nparallel: {mode: " + mode + ", world_size: 2}\n");
          }).find("parallel.mode: " + mode) != std::string::npos);
}

TEST_CASE(
    "frozen weights that the host's memory cannot hold stay on the GPU, the first layers first") {
  // Llama-3.1-70B's shape: 131 GiB in bf16
  const auto on = [](std::int64_t host_gib) {
    return planned(
        recipe::parse_recipe(
            "model: {type: llama, size: 8b, options: {num_layers: 80, hidden_size: 8192, "
            "intermediate_size: 28672, num_heads: 64, num_key_value_heads: 8, head_size: 128}, "
            "adapter: {type: lora, rank: 16, alpha: 32, targets: all_linear}}\n"
            "data: {type: stories, sequence_length: 4096}\n"
            "batch: {global_batch_size: 1, micro_batch_size: 1}\nprecision: bf16\n"
            "memory: {parameter_offload: cpu, activation_checkpoint: full}\n",
            "test")
            .recipe,
        {.host_bytes = host_gib << 30, .gpu = "", .gpus = {h200_gpu()}});
  };
  const auto frozen = [](const plan::RunPlan& plan, program::Space space) {
    std::int64_t bytes = 0;
    for (const auto& b : plan.role().train.back().program.buffers)
      if (b.resident && b.role == program::Role::parameter && b.space == space &&
          !plan.role()
               .train.back()
               .graph.groups[static_cast<std::size_t>(b.index)]
               .training.trained)
        bytes += b.bytes();
    return bytes;
  };
  const auto large = on(256), small = on(128);
  const std::int64_t all = frozen(large, program::Space::host);
  CHECK(all > std::int64_t{131} << 30);
  CHECK(frozen(large, program::Space::device) == 0);
  CHECK(frozen(small, program::Space::host) + frozen(small, program::Space::device) == all);
  CHECK(frozen(small, program::Space::host) > std::int64_t{105} << 30);
  CHECK(plan::host_need(small.memory) < std::int64_t{116} << 30);
  // less the room for copies of the embedding and the head
  const std::int64_t more = small.memory.total_bytes() - large.memory.total_bytes(),
                     stay = frozen(small, program::Space::device);
  CHECK(more <= stay);
  CHECK(more > stay / 10 * 9);
  CHECK(plan::parameter_copies(small.role().train.back().program).in <
        plan::parameter_copies(large.role().train.back().program).in);
}

}  // namespace parameter_offload_test
