// GPT-2's blocks on the GPU against the same model in fp64.
#include "torch/model/cases.hpp"
#include "torch/model/reference_gpt2.hpp"
#include "gradients.hpp"
#include "on_gpu.hpp"
#include "passes/passes.hpp"
#include <ATen/TensorOperators.h>
#include "gpu/device.hpp"

namespace gpt2_blocks_test {

using namespace trainx;
using namespace trainx::model::test;

namespace {

PlainRun gpu_run(const Case& t, DType compute) {
  return make_run(t, architectures::graph_of(t.dims, t.batch, t.length, compute,
                                             architectures::GraphOptions::on_gpu()));
}

/// Sizes that the libraries' kernels are made for.
const std::vector<Case>& wide_cases() {
  static const std::vector<Case> list{{"wide",
                                       {.num_layers = 2,
                                        .num_heads = 4,
                                        .hidden_size = 256,
                                        .intermediate_size = 1024,
                                        .max_positions = 128,
                                        .vocab_size = 1000},
                                       4,
                                       128},
                                      {"wide with dropout",
                                       {.num_layers = 2,
                                        .num_heads = 4,
                                        .hidden_size = 256,
                                        .intermediate_size = 1024,
                                        .max_positions = 128,
                                        .vocab_size = 1000,
                                        .dropout = 0.1},
                                       4,
                                       128},
                                      {"head in turns",
                                       {.num_layers = 1,
                                        .num_heads = 2,
                                        .hidden_size = 32,
                                        .intermediate_size = 64,
                                        .max_positions = 512,
                                        .vocab_size = 100},
                                       20,
                                       512}};
  return list;
}

}  // namespace

TEST_CASE("GPT-2 on the GPU: loss and all gradients equal fp64 autograd's in fp32", "[gpu]") {
  TRAINX_NEEDS_GPU();
  const int which = GENERATE(range(0, 11));
  const Case& t = which < 8 ? cases().at(which) : wide_cases().at(which - 8);
  INFO(t.name);
  PlainRun run = gpu_run(t, DType::f32);
  const ReferenceResult want = reference_of(run, t);
  OnGpu(run).run();
  check_exact(run, want.gradients, want.loss_sum, want.target_count, 1e-5);
}

TEST_CASE("GPT-2 on the GPU: bf16 and fp16 are as near to fp64 as torch's", "[gpu]") {
  TRAINX_NEEDS_GPU();
  const Case& t = wide_cases().at(GENERATE(range(0, 3)));
  const auto [compute, theirs] =
      GENERATE(std::pair{DType::bf16, at::kBFloat16}, std::pair{DType::f16, at::kHalf});
  INFO(t.name << " " << name_of(compute));
  PlainRun run = gpu_run(t, compute);
  const ReferenceResult want = reference_of(run, t), torch = reference_of(run, t, theirs);
  OnGpu(run).run();
  check_as_torch(run, want.gradients, torch.gradients);
}

TEST_CASE("GPT-2 on the GPU: a second micro-step adds to gradients and sums", "[gpu]") {
  TRAINX_NEEDS_GPU();
  const Case& t = wide_cases().at(GENERATE(1, 2));
  INFO(t.name);
  PlainRun run = gpu_run(t, DType::f32);
  ReferenceResult want = reference_of(run, t);
  OnGpu gpu(run);
  gpu.run();
  for (auto& i : run.program.steady)
    for (auto& u : i.uses) {
      const program::Role role = run.program.buffers[u.buffer].role;
      if (u.how == program::How::overwrite && (role == program::Role::gradient || is_scalar(role)))
        u.how = program::How::accumulate;
    }
  gpu.run();
  for (auto& [name, g] : want.gradients) g = g * 2;
  check_exact(run, want.gradients, 2 * want.loss_sum, 2 * want.target_count, 1e-5);
}

TEST_CASE("GPT-2 on the GPU: what is recomputed has the same bits", "[gpu]") {
  TRAINX_NEEDS_GPU();
  const Case& t = wide_cases().at(GENERATE(0, 1));
  const DType compute = GENERATE(DType::f32, DType::bf16, DType::f16);
  const auto level = GENERATE(RecomputeLevel::selective, RecomputeLevel::mlp, RecomputeLevel::full);
  INFO(t.name << " " << name_of(compute));
  PlainRun run = gpu_run(t, compute);
  PlainRun again(t.dims, run.graph,
                 passes::activation_recomputation(run.program, run.graph, level));
  again.seed = run.seed;
  again.loss_seed = run.loss_seed;
  for (const auto& group : run.graph.groups)
    again.memory.at("w." + group.name).copy_(run.memory.at("w." + group.name));
  for (const auto& field : run.graph.batch)
    again.memory.at(field.name).copy_(run.memory.at(field.name));
  OnGpu(run, true).run();
  OnGpu(again, true).run();
  for (const auto& [name, g] : run.parameters("g.", DType::f32)) {
    INFO(name);
    CHECK(again.parameters("g.", DType::f32).at(name).equal(g));
  }
}

}  // namespace gpt2_blocks_test
