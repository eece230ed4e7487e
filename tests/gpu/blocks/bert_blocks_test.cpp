// BERT's blocks on the GPU against the same model in fp64.
#include "torch/model/bert_cases.hpp"
#include "gradients.hpp"
#include "on_gpu.hpp"
#include "passes/passes.hpp"
#include <ATen/TensorOperators.h>
#include <ATen/ops/argmax.h>
#include <ATen/ops/zeros.h>
#include "gpu/device.hpp"

namespace bert_blocks_test {

using namespace trainx;
using namespace trainx::model::test;

namespace {

const architectures::Task mlm = architectures::Task::masked_lm,
                          cls = architectures::Task::classification;

PlainRun gpu_run(const BertCase& t, DType compute) {
  return make_run(t, compute, architectures::GraphOptions::on_gpu());
}

/// Sizes that the libraries' kernels are made for.
const std::vector<BertCase>& wide_cases() {
  const auto dims = [](architectures::Task task, double dropout) {
    return architectures::BertDims{.num_layers = 2,
                                   .num_heads = 4,
                                   .hidden_size = 256,
                                   .intermediate_size = 1024,
                                   .max_positions = 128,
                                   .vocab_size = 1000,
                                   .dropout = dropout,
                                   .task = task,
                                   .num_labels = task == cls ? 3 : 0};
  };
  static const std::vector<BertCase> list{
      {"classifier", dims(cls, 0), 8, 128},
      {"classifier with padding and dropout",
       dims(cls, 0.1),
       8,
       128,
       {128, 5, 64, 65, 127, 1, 100, 31}},
      {"masked_lm", dims(mlm, 0), 4, 128},
      {"masked_lm with padding", dims(mlm, 0), 4, 128, {100, 128, 17, 64}},
      {"masked_lm with dropout", dims(mlm, 0.1), 4, 128}};
  return list;
}

/// Every token is to be predicted, many more than the graph expects.
void give_all_targets(PlainRun& run) {
  const at::Tensor targets = run.buffer("targets", DType::i32),
                   tokens = run.buffer("tokens", DType::i32);
  targets.copy_(tokens);
}

}  // namespace

TEST_CASE("BERT on the GPU: loss and all gradients equal fp64 autograd's in fp32", "[gpu]") {
  TRAINX_NEEDS_GPU();
  const int which = GENERATE(range(0, 15));
  const BertCase& t = which < 10 ? bert_cases().at(which) : wide_cases().at(which - 10);
  INFO(t.name);
  PlainRun run = gpu_run(t, DType::f32);
  const BertResult want = reference_of(run, t);
  OnGpu gpu(run);
  CHECK(gpu.needs.padded == !t.lengths.empty());
  gpu.run();
  check_exact(run, want.gradients, want.loss_sum, want.target_count, 1e-5);
}

TEST_CASE("BERT on the GPU: bf16 and fp16 are as near to fp64 as torch's", "[gpu]") {
  TRAINX_NEEDS_GPU();
  const BertCase& t = wide_cases().at(GENERATE(range(0, 5)));
  const auto [compute, theirs] =
      GENERATE(std::pair{DType::bf16, at::kBFloat16}, std::pair{DType::f16, at::kHalf});
  INFO(t.name << " " << name_of(compute));
  PlainRun run = gpu_run(t, compute);
  const BertResult want = reference_of(run, t), torch = reference_of(run, t, theirs);
  OnGpu gpu(run);
  gpu.run();
  check_as_torch(run, want.gradients, torch.gradients);
}

TEST_CASE("BERT on the GPU: a batch without padding gives the same with its lengths looked at",
          "[gpu]") {
  TRAINX_NEEDS_GPU();
  const BertCase& t = wide_cases().at(GENERATE(0, 2));
  INFO(t.name);
  PlainRun exact = gpu_run(t, DType::f32), low = gpu_run(t, DType::bf16);
  const BertResult want = reference_of(exact, t), want_low = reference_of(low, t),
                   torch = reference_of(low, t, at::kBFloat16);
  for (PlainRun* run : {&exact, &low}) {
    OnGpu gpu(*run);
    gpu.needs.padded = true;
    gpu.run();
  }
  check_exact(exact, want.gradients, want.loss_sum, want.target_count, 1e-5);
  check_as_torch(low, want_low.gradients, torch.gradients);
}

TEST_CASE("BERT on the GPU: more targets than expected are computed in turns", "[gpu]") {
  TRAINX_NEEDS_GPU();
  BertCase t = wide_cases().at(2);
  const double dropout = GENERATE(0.0, 0.1);
  t.dims.dropout = dropout;
  t.dims.mask_probability = 0.1;
  PlainRun run = gpu_run(t, DType::f32);
  give_all_targets(run);
  const BertResult want = reference_of(run, t);
  OnGpu gpu(run);
  CHECK(gpu.needs.target_rows == t.batch * t.length);
  CHECK(run.graph.target_chunk < t.batch * t.length);
  gpu.run();
  check_exact(run, want.gradients, want.loss_sum, want.target_count, 1e-5);
}

TEST_CASE("BERT on the GPU: a second micro-step adds to gradients and sums", "[gpu]") {
  TRAINX_NEEDS_GPU();
  const BertCase& t = wide_cases().at(GENERATE(1, 3));
  INFO(t.name);
  PlainRun run = gpu_run(t, DType::f32);
  BertResult want = reference_of(run, t);
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

TEST_CASE("BERT on the GPU: what is recomputed has the same bits", "[gpu]") {
  TRAINX_NEEDS_GPU();
  const BertCase& t = wide_cases().at(GENERATE(0, 1, 3));
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

TEST_CASE("BERT on the GPU: evaluation gives the loss without dropout and counts predictions",
          "[gpu]") {
  TRAINX_NEEDS_GPU();
  const int which = GENERATE(range(0, 14));
  const BertCase& t = which < 9 ? bert_cases().at(which) : wide_cases().at(which - 9);
  INFO(t.name);
  PlainRun train = gpu_run(t, DType::f32);
  BertCase without_dropout = t;
  without_dropout.dims.dropout = 0;
  const BertResult want = reference_of(train, without_dropout);
  PlainRun run(t.dims, train.graph,
               program::forward_program(train.program, train.graph, program::Op::evaluate));
  run.mode = model::Mode::eval;
  for (const auto& group : train.graph.groups)
    run.memory.at("w." + group.name).copy_(train.memory.at("w." + group.name));
  for (const auto& field : train.graph.batch)
    run.memory.at(field.name).copy_(train.memory.at(field.name));
  OnGpu(run).run();
  CHECK(std::abs(run.buffer("loss_sum", DType::f64).item<double>() - want.loss_sum) <=
        1e-5 * want.loss_sum);
  CHECK(run.buffer("target_count", DType::f64).item<double>() == want.target_count);
  const at::Tensor best = at::argmax(want.logits, -1);
  if (t.dims.task == cls) {
    at::Tensor confusion = at::zeros({t.dims.num_labels, t.dims.num_labels}, at::kDouble);
    for (std::int64_t b = 0; b < t.batch; ++b)
      confusion[run.buffer("labels", DType::i32)[b].item<int>()][best[b].item<std::int64_t>()] += 1;
    CHECK(run.buffer("confusion", DType::f64).view(confusion.sizes()).equal(confusion));
  } else {
    CHECK(
        run.buffer("correct", DType::f64).item<double>() ==
        best.eq(run.buffer("targets", DType::i32).view({t.batch, t.length})).sum().item<double>());
  }
}

}  // namespace bert_blocks_test
