#include "core/error.hpp"
#include "plan/claims.hpp"
#include "plan/memory_plan.hpp"
#include "recipe/recipe.hpp"
#include "support/catch.hpp"
#include <algorithm>

using namespace trainx;

namespace {

plan::RunPlan plan_of(const std::string& more, const std::string& memory = "optimizer_offload: cpu", std::int64_t host_bytes = std::int64_t{16} << 30, const std::string& gpu = "h200") {
  facts::Facts f;
  f.hardware.cpu_cores = 2;
  f.hardware.memory_bytes = host_bytes;
  if (gpu.empty()) f.hardware.gpus = {"NVIDIA H200", "NVIDIA H200"};
  f.data = {true, true, 1000, 100, 0, {}, ""};
  return plan::make_run_plan(recipe::parse_recipe("model: {type: gpt2, size: 124m}\ndata: {type: stories, sequence_length: 256}\nbatch: {global_batch_size: 8, micro_batch_size: 4}\nmemory: {" + memory + "}\n" + more, "test").recipe, f,
                             {.gpu = gpu});
}

std::int64_t on_host(const plan::RunPlan& plan, const std::string& what) {
  for (const auto& [name, bytes] : plan.memory.on_host)
    if (name == what) return bytes;
  return 0;
}

}  // namespace

TEST_CASE("what is claimed of an optimizer on the host is what the program does, in every precision and mode") {
  for (const std::string precision : {"fp32", "bf16", "fp16"})
    for (const std::string mode : {"single", "ddp", "zero1", "zero3"}) {
      const auto plan = plan_of("precision: " + precision + (mode == "single" ? "\n" : "\nparallel: {mode: " + mode + ", world_size: 2}\n"));
      CAPTURE(precision, mode);
      const auto claims = plan::claims_of(plan, plan.train.back().graph);
      const auto copies = plan::optimizer_copies(plan.train.back().program);
      CHECK(claims.gradients_out_bytes == copies.gradients_out);
      CHECK(claims.weights_back_bytes == copies.weights_back);
      CHECK(claims.host_updates == std::ranges::count(plan.train.back().program.steady, program::Op::update, &program::Instruction::op));
      CHECK(claims.host_updates > 10);
      CHECK(claims.update_launches == 0);
      CHECK(plan::offloaded_bytes(plan.train.back().program) == 0);
    }
  const auto plain = plan_of("", "optimizer_offload: none");
  CHECK(plan::claims_of(plain, plain.train.back().graph).host_updates == 0);
  CHECK(plain.memory.on_host.empty());
}

TEST_CASE("states, exact weights and gradients are the host's; the device keeps what blocks compute with") {
  const auto plain = plan_of("precision: bf16\n", "optimizer_offload: none"), plan = plan_of("precision: bf16\n"), shards = plan_of("precision: bf16\nparallel: {mode: zero1, world_size: 2}\n");
  std::int64_t elements = 0;
  for (const auto& g : plan.train.back().graph.groups) elements += g.elements;
  CHECK(on_host(plan, "optimizer state on the host") == 8 * elements);
  CHECK(on_host(plan, "master weights on the host") == 2 * elements);
  CHECK(on_host(plan, "weights on the host") == 2 * elements);
  CHECK(on_host(plan, "gradients on the host") == 4 * elements);
  CHECK(on_host(shards, "optimizer state on the host") < 4 * elements + elements / 100);
  CHECK(plain.memory.total_bytes() - plan.memory.total_bytes() > 10 * elements);
}

TEST_CASE("the time of a step has the host's updates in it") {
  const auto plain = plan_of("precision: bf16\n", "optimizer_offload: none"), plan = plan_of("precision: bf16\n");
  const double on_host = plan.time->busy_s[static_cast<std::size_t>(program::Lane::host)];
  CHECK(on_host > 0);
  CHECK(plan.time->step_s > plain.time->step_s + on_host * 0.9);
  CHECK(plain.time->busy_s[static_cast<std::size_t>(program::Lane::host)] == 0);
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
  CHECK(sentence.find("on the host (optimizer state on the host ") != std::string::npos);
  CHECK(sentence.find("and the machine has 1.0 GiB; leave memory.optimizer_offload out") != std::string::npos);
  CHECK(refusal("parallel: {mode: single}\ncheckpoint: {asynchronous: true}\n", std::int64_t{3} << 30).find("checkpoint.asynchronous: false") != std::string::npos);   // its copy is counted
  CHECK(refusal("parallel: {mode: single}\n", std::int64_t{3} << 30).empty());
}
