// What a block's linear layers multiply in fp8: which operands, of which format, in which product.
#include "cases.hpp"
#include "operations/quantize/quantize.hpp"
#include "architectures/gpt2.hpp"
#include <ATen/TensorOperators.h>
#include <ATen/ops/matmul.h>
#include <algorithm>
#include <cmath>
#include "support/catch.hpp"

namespace fp8_test {

using namespace trainx;
using model::test::PlainRun;
using operations::Fp8;

namespace {

constexpr std::int64_t batch = 2, length = 8, hidden = 16, wide = 48, tokens = batch * length;

/// `channel`: of the normalised input of the MLP, this many times as large.
PlainRun run_in_fp8(DType compute, operations::Fp8Scaling scaling = operations::Fp8Scaling::current,
                    int channel = 0, double times = 1) {
  const model::test::Case t{"fp8",
                            {.num_layers = 1,
                             .num_heads = 2,
                             .hidden_size = hidden,
                             .intermediate_size = wide,
                             .max_positions = length,
                             .vocab_size = 30},
                            batch,
                            length};
  architectures::GraphOptions graph_options = architectures::GraphOptions::on_cpu(1);
  graph_options.passes.fp8.layers = graph::Fp8Layers::all;
  graph_options.passes.fp8.scaling = scaling;
  PlainRun run =
      make_run(t, architectures::graph_of(t.dims, t.batch, t.length, compute, graph_options));
  run.parameters("w.", compute).at("h.0.ln_2.weight").select(0, channel).mul_(times);
  run.run();
  return run;
}

/// A tensor in fp8 that the run left in `values` and `scale`.
struct Operand {
  at::Tensor values;  // doubles, times the scale
  int largest_bits = 0;
};
Operand operand(PlainRun& run, const std::string& values, const std::string& scale, Fp8 format,
                at::IntArrayRef dims) {
  Operand out;
  const at::Tensor bytes = run.buffer(values, DType::u8).narrow(0, 0, dims[0] * dims[1]);
  out.values = bytes.to(at::kDouble).view(dims);
  auto* const to = out.values.mutable_data_ptr<double>();
  for (std::int64_t i = 0; i < bytes.numel(); ++i) {
    const std::uint8_t bits = bytes.const_data_ptr<std::uint8_t>()[i];
    out.largest_bits = std::max(out.largest_bits, bits & 0x7f);
    to[i] = format == Fp8::e4m3 ? operations::widened_fp8<Fp8::e4m3>(bits)
                                : operations::widened_fp8<Fp8::e5m2>(bits);
  }
  out.values *= run.buffer(scale, DType::f32).item<float>();
  return out;
}

double difference(const at::Tensor& got, const at::Tensor& want) {
  return ((got.to(at::kDouble) - want).abs().max() / want.abs().max()).item<double>();
}

}  // namespace

TEST_CASE("a linear layer multiplies e4m3 inputs and weights and e5m2 gradients in its products") {
  const DType compute = GENERATE(DType::f32, DType::bf16);
  INFO(name_of(compute));
  PlainRun run = run_in_fp8(compute);
  const double tolerance = compute == DType::f32 ? 1e-5 : 1e-2;
  // of c_fc, whose backward is the block's last product
  const std::string block = "h0.mlp.";
  const Operand x = operand(run, block + "normed_fp8", block + "normed_fp8_scale", Fp8::e4m3,
                            {tokens, hidden}),
                w = operand(run, block + "fp8_weight", block + "fp8_weight_scale", Fp8::e4m3,
                            {wide, hidden}),
                dy = operand(run, block + "fp8_gradient", block + "fp8_gradient_scale", Fp8::e5m2,
                             {tokens, wide});
  // the largest values of their formats
  CHECK(x.largest_bits == 0x7e);
  CHECK(w.largest_bits == 0x7e);
  CHECK(dy.largest_bits == 0x7b);

  const at::Tensor exact = run.parameters("w.", compute).at("h.0.mlp.c_fc.weight"),
                   bias = run.parameters("w.", compute).at("h.0.mlp.c_fc.bias"),
                   normed = run.buffer(block + "normed", compute).view({tokens, hidden});
  const double fp8_error = std::ldexp(1, -4);
  CHECK(difference(exact, w.values) <= fp8_error);
  CHECK(difference(exact, w.values) > 1e-4);
  CHECK(difference(normed, x.values) <= fp8_error);
  CHECK(difference(normed, x.values) > 1e-4);

  const at::Tensor y = run.buffer(block + "preactivation", compute).view({tokens, wide}),
                   dx = run.buffer(block + "d_normed", compute).view({tokens, hidden}),
                   dw = run.parameters("g.", DType::f32).at("h.0.mlp.c_fc.weight");
  CHECK(difference(y, at::matmul(x.values, w.values.t()) + bias.to(at::kDouble)) <= tolerance);
  CHECK(difference(dx, at::matmul(dy.values, w.values)) <= tolerance);
  CHECK(difference(dw, at::matmul(dy.values.t(), x.values)) <= 1e-5);
}

TEST_CASE("with scales of blocks weight gradients multiply casts by columns, the others by rows") {
  const DType compute = GENERATE(DType::f32, DType::bf16);
  INFO(name_of(compute));
  // beside that channel all others become zero where they share a scale with it: by rows
  PlainRun run = run_in_fp8(compute, operations::Fp8Scaling::blocks, 0, 0x1p30);
  const double tolerance = compute == DType::f32 ? 1e-5 : 1e-2;
  const std::string block = "h0.mlp.";
  // e4m3 [rows, columns] times a scale for each row, which has a single block
  const auto by_rows = [&](const std::string& name, std::int64_t rows, std::int64_t columns,
                           bool one_scale = false) {
    const at::Tensor bytes = run.buffer(block + name, DType::u8).narrow(0, 0, rows * columns),
                     scales = run.buffer(block + name + "_scale", DType::f32);
    at::Tensor out = bytes.to(at::kDouble);
    auto* const to = out.mutable_data_ptr<double>();
    for (std::int64_t i = 0; i < rows * columns; ++i) {
      const float scale = scales.const_data_ptr<float>()[one_scale ? 0 : i / columns];
      int exponent = 0;
      CHECK(std::frexp(scale, &exponent) == 0.5F);
      to[i] = static_cast<double>(
                  operations::widened_fp8<Fp8::e4m3>(bytes.const_data_ptr<std::uint8_t>()[i])) *
              static_cast<double>(scale);
    }
    return out.view({rows, columns});
  };
  const at::Tensor x = by_rows("normed_fp8", tokens, hidden),
                   x_by_columns = by_rows("normed_fp8_transposed", hidden, tokens),
                   w = by_rows("fp8_weight", wide, hidden, true),
                   dy = by_rows("fp8_gradient", tokens, wide),
                   dy_by_columns = by_rows("fp8_gradient_transposed", wide, tokens);
  CHECK(x.narrow(1, 1, hidden - 1).abs().max().item<double>() == 0);
  CHECK(x_by_columns.narrow(0, 1, hidden - 1).abs().max().item<double>() > 0);
  const at::Tensor normed = run.buffer(block + "normed", compute).view({tokens, hidden}),
                   bias = run.parameters("w.", compute).at("h.0.mlp.c_fc.bias");
  const double fp8_error = std::ldexp(1, -4);
  CHECK(difference(normed, x) <= fp8_error);
  const auto others = [](const at::Tensor& t) { return t.narrow(1, 1, hidden - 1); };
  CHECK(difference(others(normed), others(x_by_columns.t())) <= fp8_error);
  CHECK(difference(run.parameters("w.", compute).at("h.0.mlp.c_fc.weight"), w) <= fp8_error);
  CHECK(difference(dy_by_columns.t(), dy) <= 2 * fp8_error);
  const at::Tensor y = run.buffer(block + "preactivation", compute).view({tokens, wide}),
                   dx = run.buffer(block + "d_normed", compute).view({tokens, hidden}),
                   dw = run.parameters("g.", DType::f32).at("h.0.mlp.c_fc.weight");
  CHECK(difference(y, at::matmul(x, w.t()) + bias.to(at::kDouble)) <= tolerance);
  CHECK(difference(dx, at::matmul(dy, w)) <= tolerance);
  const at::Tensor want = at::matmul(dy_by_columns, x_by_columns.t());
  CHECK(difference(dw, want) <= 1e-5);
  CHECK(difference(others(dw), others(want)) <= 1e-5);
}

}  // namespace fp8_test
