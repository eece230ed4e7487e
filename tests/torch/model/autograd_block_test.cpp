// Each explicit attention and MLP block against the same block written as a differentiable
// function.
#include "model/autograd_block.hpp"
#include "cases.hpp"
#include "reference_gpt2.hpp"
#include "spec/arch/gpt2_slots.hpp"
#include <ATen/TensorOperators.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include "support/catch.hpp"

using namespace trainx;
using model::AutogradEnds;
using model::AutogradInputs;
using model::test::Case;
using model::test::PlainRun;

namespace {

template <class S>
AutogradEnds ends_of(const Case& t, bool first) {
  const bool dropout = t.dims.dropout > 0;
  AutogradEnds ends;
  ends.groups = {{S::parameters, S::d_parameters}};
  if (first)
    ends.values_in = {{S::residual_out, S::d_residual_out}};
  else
    ends.values_in = {{S::residual_in, S::d_residual_in},
                      {S::branch_in, dropout ? S::d_branch_in : program::none}};
  if (!first) ends.values_out.push_back({S::residual_out, S::d_residual_out});
  ends.values_out.push_back({S::branch_out, dropout ? S::d_branch_out : S::d_residual_out});
  return ends;
}

/// `inner` maps (parameters, normed) to the branch. `error`: the norm's result is scaled with 1 +
/// error.
template <class Inner>
model::AutogradFunction sublayer(const Case& t, std::uint32_t block, std::uint64_t seed,
                                 Inner inner, double error) {
  return [=](const AutogradInputs& in) {
    using P = spec::MlpTensor;
    static_assert(static_cast<int>(P::pending_bias) ==
                  static_cast<int>(spec::AttentionTensor::pending_bias));
    const auto& w = in.parameters.at(0);
    const std::int64_t C = t.dims.hidden_size;
    at::Tensor residual = in.values.at(0);
    if (in.values.size() > 1) {
      at::Tensor branch = in.values[1] + w.at(P::pending_bias);
      if (t.dims.dropout > 0)
        branch = branch * model::test::reference_dropout(t.dims.dropout, seed, block,
                                                         in.context[spec::SublayerSlot::positions],
                                                         t.length, C)
                              .view({-1, C})
                              .to(at::kFloat);
      residual = residual + branch;
    }
    const at::Tensor normed = at::layer_norm(residual, {C}, w.at(P::ln_weight), w.at(P::ln_bias),
                                             t.dims.layer_norm_epsilon) *
                              (1 + error);
    std::vector<at::Tensor> out;
    if (in.values.size() > 1) out.push_back(residual);
    out.push_back(inner(w, normed));
    return out;
  };
}

/// The run of `t` with block `k` (1: first attention, 2: first MLP, ...) replaced.
PlainRun replaced_run(const Case& t, int k, double error = 0) {
  auto graph = spec::gpt2_graph(t.dims, t.batch, t.length, DType::f32);
  const bool attention = k % 2 == 1;
  const AutogradEnds ends = attention ? ends_of<spec::AttentionSlot>(t, k == 1)
                                      : ends_of<spec::MlpSlot>(t, false);
  graph.blocks[k] = model::autograd_spec(graph.blocks[k], ends);
  PlainRun run = model::test::make_run(t, graph);
  const auto heads = t.dims.num_heads, size = t.dims.hidden_size / heads, B = t.batch, T = t.length;
  auto attend = [=](const std::vector<at::Tensor>& w, const at::Tensor& x) {
    using P = spec::AttentionTensor;
    const at::Tensor qkv = at::linear(x, w[P::c_attn_weight], w[P::c_attn_bias])
                               .view({B, T, 3, heads, size})
                               .permute({2, 0, 3, 1, 4});
    return at::linear(at::scaled_dot_product_attention(qkv[0], qkv[1], qkv[2], {}, 0.0, true)
                          .transpose(1, 2)
                          .reshape({B * T, heads * size}),
                      w[P::c_proj_weight]);
  };
  auto perceive = [](const std::vector<at::Tensor>& w, const at::Tensor& x) {
    using P = spec::MlpTensor;
    return at::linear(at::gelu(at::linear(x, w[P::c_fc_weight], w[P::c_fc_bias]), "tanh"),
                      w[P::c_proj_weight]);
  };
  const auto function = attention ? sublayer(t, k, run.seed, attend, error)
                                  : sublayer(t, k, run.seed, perceive, error);
  run.blocks[k] =
      std::make_unique<model::AutogradBlock>(run.graph, run.graph.blocks[k], ends, function);
  return run;
}

double worst_difference(PlainRun& a, PlainRun& b) {
  double worst = std::abs(a.buffer("loss_sum", DType::f64).item<double>() /
                              b.buffer("loss_sum", DType::f64).item<double>() -
                          1);
  const auto want = b.parameters("g.", DType::f32);
  for (const auto& [name, got] : a.parameters("g.", DType::f32))
    worst = std::max(worst, model::test::relative_error(got, want.at(name)));
  return worst;
}

}  // namespace

TEST_CASE(
    "a model with one block replaced by its autograd form gives the same loss and gradients") {
  const Case& t = model::test::cases().at(GENERATE(0, 1, 3));
  const int block = GENERATE(1, 2, 3, 4);
  if (block > 2 * t.dims.num_layers) return;
  INFO(t.name << ", block " << block);
  PlainRun plain = model::test::make_run(t, DType::f32), replaced = replaced_run(t, block),
           broken = replaced_run(t, block, 1e-3);
  plain.run();
  replaced.run();
  CHECK(worst_difference(plain, replaced) <= 1e-5);
  broken.run();
  // the comparison sees an error of a thousandth in one norm
  CHECK_FALSE(worst_difference(plain, broken) <= 1e-4);
}
