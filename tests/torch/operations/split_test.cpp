// How operations say that they are cut over ranks: the parts' results, put together as said, are
// the whole's.
#include "operations/op_context.hpp"
#include "tensor/torch_view.hpp"
#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <ATen/CPUGeneratorImpl.h>
#include <cmath>
#include <stdexcept>
#include "support/catch.hpp"

namespace split_test {

using namespace trainx;
using namespace trainx::operations;
using program::How;
using program::Role;

namespace {

struct Result {
  std::vector<at::Tensor> outputs, input_gradients, parameter_gradients;
};

/// One operation in a block of its own, in f32: its forward, and its backward of `d_output`.
class OneOperation {
 public:
  OneOperation(const Operation& operation, std::vector<at::Tensor> inputs,
               std::vector<at::Tensor> parameters, int part = 0)
      : inputs_(std::move(inputs)), parameters_(std::move(parameters)), part_(part) {
    op_.operation = operation;
    for (const at::Tensor& x : inputs_) {
      types_.inputs.push_back({DType::f32, x.sizes().vec()});
      op_.inputs.push_back(slot(Role::value, x, How::read));
    }
    for (const at::Tensor& p : parameters_)
      types_.parameters.push_back({DType::f32, p.sizes().vec()});
  }

  Result run(const at::Tensor& d_output, int d_of) {
    Result r;
    for (const OutputSpec& o : outputs_of(op_.operation, types_)) {
      r.outputs.push_back(o.type.defined() ? at::zeros(o.type.dims) : at::Tensor());
      op_.outputs.push_back(o.type.defined() ? slot(Role::saved, r.outputs.back(), How::overwrite)
                                             : program::none);
    }
    op_.output_gradients.assign(r.outputs.size(), program::none);
    op_.output_gradients.at(static_cast<std::size_t>(d_of)) =
        slot(Role::value_gradient, d_output, How::read);
    r.input_gradients.resize(inputs_.size());
    op_.input_gradients.assign(inputs_.size(), {});
    for (const InputGradient& g : backward_of(op_.operation, types_).inputs) {
      const auto i = static_cast<std::size_t>(g.input);
      r.input_gradients[i] = at::zeros_like(inputs_[i]);
      op_.input_gradients[i].to = slot(Role::scratch, r.input_gradients[i], How::overwrite);
    }
    for (const at::Tensor& p : parameters_) {
      r.parameter_gradients.push_back(at::zeros(p.sizes()));
      const int group = static_cast<int>(graph_.groups.size());
      graph_.groups.push_back({.name = "p",
                               .parameters = {{.name = "p", .dims = p.sizes().vec()}},
                               .elements = p.numel()});
      op_.parameters.push_back(
          {.value = slot(Role::parameter, p.flatten(), How::read, group),
           .gradient = slot(Role::gradient, r.parameter_gradients.back().flatten(), How::overwrite,
                            group)});
    }
    graph_.blocks.push_back(block_);
    BlockContext block(graph_, graph_.blocks.front(), operands_, how_, Mode::train, 1, 1);
    block.set_place({.layer = part_, .rows = part_, .heads = part_});
    const BoundBlock bound{};
    const OpContext c(block, bound, op_);
    std::visit(
        [&](const auto& o) {
          if constexpr (requires { o.run_forward(c), o.run_backward(c); })
            o.run_forward(c), o.run_backward(c);
        },
        op_.operation);
    for (std::size_t p = 0; p < parameters_.size(); ++p)
      r.parameter_gradients[p] = kept_[gradient_at_[p]].view(parameters_[p].sizes()).clone();
    return r;
  }

 private:
  Slot slot(Role role, const at::Tensor& t, How how, int index = program::none) {
    if (role == Role::gradient) gradient_at_.push_back(kept_.size());
    kept_.push_back(t.contiguous());
    if (!t.is_contiguous()) throw std::logic_error("operands are contiguous");
    block_.slots.push_back(
        {.name = "s", .role = role, .index = index, .tensor = {"s", DType::f32, t.sizes().vec()}});
    operands_.push_back(make_tensor(kept_.back().data_ptr(), DType::f32, Dims(t.sizes().vec())));
    how_.push_back(how);
    return static_cast<Slot>(operands_.size()) - 1;
  }

  std::vector<at::Tensor> inputs_, parameters_;
  const int part_;  // of those that the block is cut into
  Types types_;
  BoundOp op_;
  program::ModelGraph graph_;
  program::BlockSpec block_;
  std::vector<at::Tensor> kept_;
  std::vector<std::size_t> gradient_at_;
  std::vector<Tensor> operands_;
  std::vector<How> how_;
};

at::Tensor random(std::vector<std::int64_t> dims, std::uint64_t seed) {
  return at::randn(dims, at::detail::createCPUGenerator(seed), at::kFloat);
}

double error(const at::Tensor& a, const at::Tensor& b) {
  REQUIRE(a.sizes() == b.sizes());
  const double e = (a - b).abs().max().item<double>();
  return std::isfinite(e) ? e : 1e30;
}

/// Part `r` of `n` along a dimension.
at::Tensor part(const at::Tensor& x, int dim, std::int64_t r, std::int64_t n) {
  const std::int64_t each = x.size(dim) / n;
  return x.narrow(dim, r * each, each).contiguous();
}

}  // namespace

TEST_CASE("a linear layer's parts make the whole, cut by columns and by rows") {
  const auto axis = GENERATE(SplitAxis::column, SplitAxis::row);
  const bool biased = GENERATE(true, false);
  const auto activation = GENERATE(Activation::none, Activation::gelu_erf);
  const Linear linear{.epilogue = {.activation = activation}};
  const at::Tensor x = random({6, 8}, 1), w = random({12, 8}, 2), b = random({12}, 3),
                   dy = random({6, 12}, 4);
  std::vector<at::Tensor> parameters{w};
  if (biased) parameters.push_back(b);
  Types types{.inputs = {{DType::f32, {6, 8}}}, .parameters = {{DType::f32, {12, 8}}}};
  if (biased) types.parameters.push_back({DType::f32, {12}});
  const auto split = linear.split(axis, types);
  CHECK(split.has_value() == (axis == SplitAxis::column || activation == Activation::none));
  if (!split || (activation != Activation::none && !biased)) return;
  const Result whole = OneOperation(linear, {x}, parameters).run(dy.clone(), Linear::y);
  Linear of_part = linear;
  of_part.adds_up = split->sums_outputs;
  std::vector<Result> parts;
  constexpr std::int64_t ranks = 2;
  for (std::int64_t r = 0; r < ranks; ++r) {
    std::vector<at::Tensor> cut;
    for (std::size_t p = 0; p < parameters.size(); ++p)
      cut.push_back(split->parameters.at(p) ? part(parameters[p], *split->parameters[p], r, ranks)
                                            : parameters[p]);
    const at::Tensor x_part = split->sums_inputs ? x : part(x, 1, r, ranks),
                     dy_part = split->sums_outputs ? dy.clone() : part(dy, 1, r, ranks);
    parts.push_back(
        OneOperation(of_part, {x_part}, cut, static_cast<int>(r)).run(dy_part, Linear::y));
  }
  const auto y = [](const Result& r) { return r.outputs.at(Linear::y); };
  const auto dx = [](const Result& r) { return r.input_gradients.at(Linear::x); };
  CHECK(error(split->sums_outputs ? y(parts[0]) + y(parts[1])
                                  : at::cat({y(parts[0]), y(parts[1])}, 1),
              y(whole)) < 1e-4);
  CHECK(error(split->sums_inputs ? dx(parts[0]) + dx(parts[1])
                                 : at::cat({dx(parts[0]), dx(parts[1])}, 1),
              dx(whole)) < 1e-4);
  for (std::size_t p = 0; p < parameters.size(); ++p) {
    const auto d = [&](int r) { return parts[static_cast<std::size_t>(r)].parameter_gradients[p]; };
    // of what is whole each part has a share of the gradient
    CHECK(error(split->parameters[p] ? at::cat({d(0), d(1)}, *split->parameters[p]) : d(0) + d(1),
                whole.parameter_gradients[p]) < 1e-4);
  }
}

TEST_CASE("attention's parts make the whole, cut by heads") {
  constexpr std::int64_t B = 2, T = 5, H = 4, D = 8;
  Attention attention{
      .query_heads = H, .key_value_heads = H, .head_size = D, .batch = B, .length = T};
  const Types types{.inputs = {{DType::f32, {B * T, 3 * H * D}}}};
  const auto split = attention.split(SplitAxis::heads, types);
  REQUIRE(split);
  CHECK_FALSE(split->sums_outputs);
  CHECK_FALSE(attention.split(SplitAxis::column, types));
  const at::Tensor qkv = random({B * T, 3, H, D}, 5), d_out = random({B * T, H, D}, 6);
  const auto flat = [](const at::Tensor& x) { return x.reshape({x.size(0), -1}).contiguous(); };
  const Result whole = OneOperation(attention, {flat(qkv)}, {}).run(flat(d_out), Attention::out);
  attention.query_heads = attention.key_value_heads = H / 2;
  std::vector<at::Tensor> out, d_qkv;
  for (std::int64_t r = 0; r < 2; ++r) {
    const Result one = OneOperation(attention, {flat(part(qkv, 2, r, 2))}, {})
                           .run(flat(part(d_out, 1, r, 2)), Attention::out);
    out.push_back(one.outputs.at(Attention::out).view({B * T, H / 2, D}));
    d_qkv.push_back(one.input_gradients.at(Attention::qkv).view({B * T, 3, H / 2, D}));
  }
  CHECK(error(at::cat(out, 1), whole.outputs.at(Attention::out).view({B * T, H, D})) < 1e-5);
  CHECK(error(at::cat(d_qkv, 2), whole.input_gradients.at(Attention::qkv).view({B * T, 3, H, D})) <
        1e-5);
}

TEST_CASE("operations whose results need whole rows are not cut") {
  const Types rows{.inputs = {{DType::f32, {4, 8}}},
                   .parameters = {{DType::f32, {8}}, {DType::f32, {8}}}};
  for (const SplitAxis axis : {SplitAxis::column, SplitAxis::row, SplitAxis::heads}) {
    CHECK_FALSE(ResidualNorm{.norms = true}.split(axis, rows));
    CHECK_FALSE(CrossEntropy{.classes = 8}.split(axis, rows));
    CHECK_FALSE(operations::Module{}.split(axis, rows));
  }
}

}  // namespace split_test
