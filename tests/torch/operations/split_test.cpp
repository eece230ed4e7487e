// How operations say that they are cut over ranks: the parts' results, put together as said, are
// the whole's.
#include "operations/op_context.hpp"
#include "tensor/torch_view.hpp"
#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros_like.h>
#include <ATen/CPUGeneratorImpl.h>
#include <algorithm>
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
      types_.inputs.push_back(type_of(x));
      op_.inputs.push_back(x.defined() ? slot(Role::value, x, How::read) : program::none);
    }
    for (const at::Tensor& p : parameters_) types_.parameters.push_back(type_of(p));
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
    add_scratch();
    for (const at::Tensor& p : parameters_) {
      r.parameter_gradients.push_back(p.defined() ? at::zeros(p.sizes()) : at::Tensor());
      gradient_at_.push_back(0);
      op_.parameters.emplace_back();
      if (!p.defined()) continue;
      const int group = static_cast<int>(graph_.groups.size());
      graph_.groups.push_back({.name = "p",
                               .parameters = {{.name = "p", .dims = p.sizes().vec()}},
                               .elements = p.numel()});
      op_.parameters.back() = {
          .value = slot(Role::parameter, p.flatten(), How::read, group),
          .gradient =
              slot(Role::gradient, r.parameter_gradients.back().flatten(), How::overwrite, group)};
      gradient_at_.back() = kept_.size() - 1;
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
      if (parameters_[p].defined())
        r.parameter_gradients[p] = kept_[gradient_at_[p]].view(parameters_[p].sizes()).clone();
    return r;
  }

 private:
  static TensorType type_of(const at::Tensor& t) {
    return t.defined() ? TensorType{Tensor(t).dtype, t.sizes().vec()} : TensorType{};
  }

  /// What forward needs, or backward.
  void add_scratch() {
    const Cost forward = cost_of(op_.operation, Direction::forward, types_),
               backward = cost_of(op_.operation, Direction::backward, types_);
    for (std::size_t s = 0; s < std::max(forward.scratch.size(), backward.scratch.size()); ++s) {
      const auto of = [&](const Cost& c) {
        return s < c.scratch.size() ? c.scratch[s].type : TensorType{};
      };
      const TensorType type = of(forward).defined() ? of(forward) : of(backward);
      op_.scratch.push_back(
          type.defined()
              ? slot(Role::scratch,
                     at::zeros(type.dims, type.dtype == DType::i32 ? at::kInt : at::kFloat),
                     How::overwrite)
              : program::none);
    }
  }

  Slot slot(Role role, const at::Tensor& t, How how, int index = program::none) {
    kept_.push_back(t.contiguous());
    if (!t.is_contiguous()) throw std::logic_error("operands are contiguous");
    block_.slots.push_back({.name = "s",
                            .role = role,
                            .index = index,
                            .tensor = {"s", type_of(t).dtype, t.sizes().vec()}});
    operands_.push_back(
        make_tensor(kept_.back().data_ptr(), type_of(t).dtype, Dims(t.sizes().vec())));
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

TEST_CASE("parts of an adapter that read some columns drop what the whole one drops") {
  LowRank adapter{.parts = {{.first = 0, .width = 5, .rank = 2, .scale = 0.5},
                            {.first = 5, .width = 7, .rank = 1, .scale = 2}},
                  .dropout = 0.5,
                  .length = 3};
  const std::int64_t ranks = GENERATE(2, 3);
  const at::Tensor x = random({6, 18}, 1), a = random({3, 18}, 2), first = random({5, 2}, 3),
                   second = random({7, 1}, 4), dy = random({6, 12}, 5),
                   positions = at::tensor(std::vector<std::int64_t>{7, 2}, at::kLong);
  const Types types{.inputs = {{DType::f32, {6, 18}}},
                    .parameters = std::vector<TensorType>(LowRank::first_b + 2)};
  const auto split = adapter.split(SplitAxis::row, types);
  REQUIRE(split);
  CHECK(split->sums_outputs);
  const Result whole = OneOperation(adapter, {x, {}, positions}, {{}, {}, a, first, second})
                           .run(dy.clone(), LowRank::y);
  adapter.input_parts = static_cast<int>(ranks);
  at::Tensor y = at::zeros({6, 12}), d_first = at::zeros({5, 2});
  std::vector<at::Tensor> dx, d_a;
  for (std::int64_t r = 0; r < ranks; ++r) {
    const Result one = OneOperation(adapter, {part(x, 1, r, ranks), {}, positions},
                                    {{}, {}, part(a, 1, r, ranks), first, second},
                                    static_cast<int>(r))
                           .run(dy.clone(), LowRank::y);
    y += one.outputs.at(LowRank::y);
    d_first += one.parameter_gradients.at(LowRank::first_b);
    dx.push_back(one.input_gradients.at(LowRank::x));
    d_a.push_back(one.parameter_gradients.at(LowRank::a));
  }
  CHECK(error(y, whole.outputs.at(LowRank::y)) < 1e-4);
  CHECK(error(at::cat(dx, 1), whole.input_gradients.at(LowRank::x)) < 1e-4);
  CHECK(error(at::cat(d_a, 1), whole.parameter_gradients.at(LowRank::a)) < 1e-4);
  CHECK(error(d_first, whole.parameter_gradients.at(LowRank::first_b)) < 1e-4);
  CHECK(whole.input_gradients.at(LowRank::x).eq(0).any().item<bool>());
}

namespace {

constexpr std::int64_t vocabulary = 8, hidden = 4, token_count = 6;

at::Tensor row_numbers(const std::vector<std::int32_t>& all) {
  return at::tensor(std::vector<std::int64_t>(all.begin(), all.end()), at::kLong);
}

}  // namespace

TEST_CASE("trained rows of an embedding's parts make the whole, also of a sum") {
  const std::vector<std::int32_t> ids =
      GENERATE(std::vector<std::int32_t>{1}, std::vector<std::int32_t>{6, 1, 7});
  const bool is_sum = GENERATE(false, true);
  const std::int64_t ranks = GENERATE(2, 4);
  TokenRows operation{.ids = ids, .scale = 3, .untrained_token = 7};
  const at::Tensor tokens = at::tensor(std::vector<int>{1, 6, 0, 7, 1, 5}, at::kInt).view({2, 3}),
                   table = random({vocabulary, hidden}, 1), dy = random({token_count, hidden}, 2),
                   added = random({token_count, hidden}, 3),
                   rows = random({std::ssize(ids) + 1, hidden}, 4);
  const at::Tensor number = tokens.view({-1}).to(at::kLong);
  const at::Tensor looked_up = table.index_select(0, number) * 3;
  std::vector<at::Tensor> parameters{rows};
  if (is_sum) parameters.push_back(table);
  const Result whole =
      OneOperation(operation, {tokens, is_sum ? looked_up + added : looked_up}, parameters)
          .run(dy.clone(), TokenRows::y);
  const std::int64_t each = operation.part_rows = vocabulary / ranks;
  at::Tensor y = at::zeros({token_count, hidden}), d_rows = at::zeros(rows.sizes());
  for (std::int64_t r = 0; r < ranks; ++r) {
    const at::Tensor here = (number.ge(r * each) * number.lt((r + 1) * each)).unsqueeze(1);
    at::Tensor base = looked_up * here;
    if (is_sum && r == 0) base = base + added;
    std::vector<at::Tensor> cut{rows};
    if (is_sum) cut.push_back(part(table, 0, r, ranks));
    const Result one =
        OneOperation(operation, {tokens, base.contiguous()}, cut, static_cast<int>(r))
            .run(dy.clone(), TokenRows::y);
    y += one.outputs.at(TokenRows::y);
    d_rows += one.parameter_gradients.at(TokenRows::rows);
    CHECK(error(one.input_gradients.at(TokenRows::base), dy) == 0);
  }
  CHECK(error(y, whole.outputs.at(TokenRows::y)) < 1e-5);
  CHECK(error(d_rows, whole.parameter_gradients.at(TokenRows::rows)) < 1e-5);
  CHECK(d_rows.abs().max().item<double>() > 0.1);
}

TEST_CASE("trained rows of a head's parts make the whole, also where a part has none") {
  const std::vector<std::int32_t> ids =
      GENERATE(std::vector<std::int32_t>{6}, std::vector<std::int32_t>{6, 0, 1});
  const std::int64_t ranks = GENERATE(2, 4);
  const TokenLogits operation{.ids = ids};
  const Types types{.inputs = {{DType::f32, {token_count, hidden}}},
                    .parameters = {{DType::f32, {std::ssize(ids) + 1, hidden}}}};
  REQUIRE(operation.split(SplitAxis::column, types));
  CHECK_FALSE(operation.split(SplitAxis::row, types));
  const at::Tensor x = random({token_count, hidden}, 1), rows = random(types.parameters[0].dims, 2),
                   base = random({token_count, vocabulary}, 3),
                   dy = random({token_count, vocabulary}, 4);
  const Result whole = OneOperation(operation, {x, base}, {rows}).run(dy.clone(), TokenLogits::y);
  CHECK(error(whole.outputs.at(TokenLogits::y).index_select(1, row_numbers(ids)),
              at::matmul(x, rows.narrow(0, 0, std::ssize(ids)).t())) < 1e-5);
  std::vector<at::Tensor> y, d_base;
  at::Tensor dx = at::zeros(x.sizes()), d_rows = at::zeros(rows.sizes());
  for (std::int64_t r = 0; r < ranks; ++r) {
    const Result one =
        OneOperation(operation, {x, part(base, 1, r, ranks)}, {rows}, static_cast<int>(r))
            .run(part(dy, 1, r, ranks), TokenLogits::y);
    y.push_back(one.outputs.at(TokenLogits::y));
    d_base.push_back(one.input_gradients.at(TokenLogits::base));
    dx += one.input_gradients.at(TokenLogits::x);
    d_rows += one.parameter_gradients.at(TokenLogits::rows);
  }
  CHECK(error(at::cat(y, 1), whole.outputs.at(TokenLogits::y)) < 1e-5);
  CHECK(error(at::cat(d_base, 1), whole.input_gradients.at(TokenLogits::base)) < 1e-5);
  CHECK(error(dx, whole.input_gradients.at(TokenLogits::x)) < 1e-5);
  CHECK(error(d_rows, whole.parameter_gradients.at(TokenLogits::rows)) < 1e-5);
}

TEST_CASE("a sum alone goes by columns, unless it drops or has a bias") {
  const Types types{.inputs = {{DType::f32, {4, 8}}, {DType::f32, {4, 8}}}};
  CHECK(ResidualNorm{.adds = true}.split(SplitAxis::column, types));
  CHECK_FALSE(ResidualNorm{.adds = true}.split(SplitAxis::row, types));
  CHECK_FALSE(ResidualNorm{.adds = true, .dropout = 0.1}.split(SplitAxis::column, types));
  CHECK_FALSE(ResidualNorm{.adds = true, .norms = true}.split(SplitAxis::column, types));
  Types biased = types;
  biased.parameters.resize(ResidualNorm::bias + 1);
  biased.parameters[ResidualNorm::bias] = {DType::f32, {8}};
  CHECK_FALSE(ResidualNorm{.adds = true}.split(SplitAxis::column, biased));
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
