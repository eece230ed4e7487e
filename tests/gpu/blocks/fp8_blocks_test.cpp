// Products in fp8 on the GPU: which copies of which operands each of them multiplies, and gradients
// beside the CPU's in fp8 and those of fp64.
#include "torch/model/cases.hpp"
#include "torch/model/reference_gpt2.hpp"
#include "gradients.hpp"
#include "on_gpu.hpp"
#include "operations/quantize/quantize.hpp"
#include "passes/passes.hpp"
#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/matmul.h>
#include "gpu/device.hpp"

using namespace trainx;
using namespace trainx::model::test;
using operations::Fp8;

namespace {

constexpr std::int64_t hidden = 64, wide = 176, tokens = 4 * 32;

const Case fp8_case{"fp8",
                    {.num_layers = 2,
                     .num_heads = 2,
                     .hidden_size = hidden,
                     .intermediate_size = wide,
                     .max_positions = 32,
                     .vocab_size = 100},
                    4,
                    32};

bool multiplies_fp8() {
  int major = 0, minor = 0;
  return cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0) == cudaSuccess &&
         cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, 0) == cudaSuccess &&
         10 * major + minor >= 89;
}
#define TRAINX_NEEDS_FP8()                                                      \
  TRAINX_NEEDS_GPU();                                                           \
  if (!multiplies_fp8()) {                                                      \
    WARN("skipped: this GPU does not multiply fp8 (compute capability < 8.9)"); \
    return;                                                                     \
  }

PlainRun fp8_run(architectures::Machine machine) {
  machine.fp8 = graph::Fp8Layers::all;
  return make_run(fp8_case, architectures::graph_of(fp8_case.dims, fp8_case.batch, fp8_case.length,
                                                    DType::bf16, machine));
}
PlainRun gpu_run() { return fp8_run(architectures::Machine::one_gpu()); }

void copy_operands(PlainRun& to, const PlainRun& from) {
  to.seed = from.seed;
  to.loss_seed = from.loss_seed;
  for (const auto& group : from.graph.groups)
    to.memory.at("w." + group.name).copy_(from.memory.at("w." + group.name));
  for (const auto& field : from.graph.batch)
    to.memory.at(field.name).copy_(from.memory.at(field.name));
}

/// Bytes [rows, columns] that the run left.
at::Tensor bytes_of(PlainRun& run, const std::string& name, std::int64_t rows,
                    std::int64_t columns) {
  return run.buffer("h0.mlp." + name, DType::u8).narrow(0, 0, rows * columns).view({rows, columns});
}

/// As doubles, times their scale.
at::Tensor numbers_of(PlainRun& run, const at::Tensor& bytes, const std::string& scale,
                      Fp8 format) {
  at::Tensor out = bytes.to(at::kDouble).contiguous();
  const at::Tensor bits = bytes.contiguous();
  auto* const to = out.mutable_data_ptr<double>();
  for (std::int64_t i = 0; i < bits.numel(); ++i) {
    const std::uint8_t b = bits.const_data_ptr<std::uint8_t>()[i];
    to[i] = format == Fp8::e4m3 ? operations::widened_fp8<Fp8::e4m3>(b)
                                : operations::widened_fp8<Fp8::e5m2>(b);
  }
  return out * run.buffer("h0.mlp." + scale, DType::f32).item<float>();
}

double difference(const at::Tensor& got, const at::Tensor& want) {
  return ((got.to(at::kDouble) - want).abs().max() / want.abs().max()).item<double>();
}

/// The CPU's cast of `x` has the bits that the GPU left.
void check_cast(const at::Tensor& x, Fp8 format, const at::Tensor& bytes, double scale,
                const char* what) {
  INFO(what);
  at::Tensor values = at::empty(x.sizes(), at::kByte), of_cpu = at::empty({1}, at::kFloat);
  const at::Tensor from = x.contiguous();
  operations::quantize({Tensor(values), Tensor(of_cpu), format}, Tensor(from));
  CHECK(static_cast<double>(of_cpu.item<float>()) == scale);
  CHECK(values.equal(bytes));
}

}  // namespace

TEST_CASE("products in fp8 on the GPU multiply copies that hold the same values", "[gpu]") {
  TRAINX_NEEDS_FP8();
  PlainRun run = gpu_run();
  OnGpu(run).run();
  // c_fc, whose backward is the block's last product
  const at::Tensor x_bytes = bytes_of(run, "normed_fp8", tokens, hidden),
                   x_transposed = bytes_of(run, "normed_fp8_transposed", hidden, tokens),
                   w_transposed = bytes_of(run, "fp8_weight_transposed", hidden, wide),
                   dy_bytes = bytes_of(run, "fp8_gradient", tokens, wide),
                   dy_transposed = bytes_of(run, "fp8_gradient_transposed", wide, tokens);
  CHECK(x_transposed.equal(x_bytes.t()));
  CHECK(dy_transposed.equal(dy_bytes.t()));
  const auto scale_of = [&](const char* name) {
    return static_cast<double>(run.buffer(std::string("h0.mlp.") + name, DType::f32).item<float>());
  };
  const at::Tensor weight = run.parameters("w.", DType::bf16).at("h.0.mlp.c_fc.weight"),
                   bias = run.parameters("w.", DType::bf16).at("h.0.mlp.c_fc.bias"),
                   normed = run.buffer("h0.mlp.normed", DType::bf16).view({tokens, hidden});
  check_cast(normed, Fp8::e4m3, x_bytes, scale_of("normed_fp8_scale"), "x");
  check_cast(weight, Fp8::e4m3, w_transposed.t(), scale_of("fp8_weight_scale"), "weight");

  const at::Tensor x = numbers_of(run, x_bytes, "normed_fp8_scale", Fp8::e4m3),
                   w = numbers_of(run, w_transposed.t(), "fp8_weight_scale", Fp8::e4m3),
                   dy = numbers_of(run, dy_bytes, "fp8_gradient_scale", Fp8::e5m2);
  const at::Tensor y = run.buffer("h0.mlp.preactivation", DType::bf16).view({tokens, wide}),
                   dx = run.buffer("h0.mlp.d_normed", DType::bf16).view({tokens, hidden}),
                   dw = run.parameters("g.", DType::f32).at("h.0.mlp.c_fc.weight");
  CHECK(difference(y, at::matmul(x, w.t()) + bias.to(at::kDouble)) <= 1e-2);
  CHECK(difference(dx, at::matmul(dy, w)) <= 1e-2);
  CHECK(difference(dw, at::matmul(dy.t(), x)) <= 2e-3);
}

TEST_CASE("gradients of products in fp8 on the GPU are near the CPU's and those of fp64", "[gpu]") {
  TRAINX_NEEDS_FP8();
  PlainRun run = gpu_run(), cpu = fp8_run(architectures::Machine(1));
  copy_operands(cpu, run);
  const ReferenceBatch batch{
      run.buffer("tokens", DType::i32).view({fp8_case.batch, fp8_case.length}),
      run.buffer("targets", DType::i32).view({fp8_case.batch, fp8_case.length}),
      run.buffer("positions", DType::i64)};
  const ReferenceResult exact = reference_gpt2(fp8_case.dims, run.parameters("w.", DType::bf16),
                                               batch, run.seed, run.loss_seed, at::kDouble);
  cpu.run();
  OnGpu(run).run();
  const Gradients got = run.parameters("g.", DType::f32);
  for (const auto& [name, error] : relative_errors(got, cpu.parameters("g.", DType::f32))) {
    INFO(name << " " << error);
    CHECK(error <= 0.1);
  }
  // e5m2 keeps gradients to 1/8
  for (const auto& [name, error] : relative_errors(got, exact.gradients)) {
    INFO(name << " " << error);
    CHECK(error <= 0.3);
  }
}

TEST_CASE("a second micro-step in fp8 on the GPU adds to weight gradients", "[gpu]") {
  TRAINX_NEEDS_FP8();
  PlainRun run = gpu_run();
  OnGpu gpu(run, true);
  gpu.run();
  Gradients once;
  for (const auto& [name, g] : run.parameters("g.", DType::f32)) once[name] = g.clone();
  for (auto& i : run.program.steady)
    for (auto& u : i.uses) {
      const program::Role role = run.program.buffers[u.buffer].role;
      if (u.how == program::How::overwrite && (role == program::Role::gradient || is_scalar(role)))
        u.how = program::How::accumulate;
    }
  gpu.run();
  for (auto& [name, g] : once) g = g * 2;
  for (const auto& [name, error] : relative_errors(run.parameters("g.", DType::f32), once)) {
    INFO(name << " " << error);
    CHECK(error <= 1e-5);
  }
}

TEST_CASE("what is recomputed in fp8 on the GPU has the same bits", "[gpu]") {
  TRAINX_NEEDS_FP8();
  const auto level = GENERATE(RecomputeLevel::selective, RecomputeLevel::mlp, RecomputeLevel::full);
  PlainRun run = gpu_run();
  PlainRun again(fp8_case.dims, run.graph,
                 passes::activation_recomputation(run.program, run.graph, level));
  copy_operands(again, run);
  OnGpu(run, true).run();
  OnGpu(again, true).run();
  for (const auto& [name, g] : run.parameters("g.", DType::f32)) {
    INFO(name);
    CHECK(again.parameters("g.", DType::f32).at(name).equal(g));
  }
}
