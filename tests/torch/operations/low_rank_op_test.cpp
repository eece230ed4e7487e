// LowRank as instructions run it: with what its outputs are computed from, and with what backward
// reads, and nothing else. Backward makes outputs anew that recomputation dropped, one or both.
#include "torch/operations/double_reference.hpp"
#include "operations/low_rank/low_rank_spec.hpp"
#include "operations/op_context.hpp"
#include "tensor/torch_view.hpp"
#include <ATen/ops/arange.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/zeros.h>

namespace low_rank_op_test {

using namespace trainx;
using namespace double_reference;
using operations::LowRank;
using operations::OperandId;
using program::How;
using program::Role;

namespace {

constexpr std::int64_t rows = 6, length = 3, in = 5, out = 9;

/// What y is added to: nothing; the layer's result; the layer's own weight, with a bias or without.
enum class Base : std::uint8_t { none, result, weight, biased_weight };

/// Operands by number; undefined: absent.
struct Tensors {
  std::vector<at::Tensor> inputs, parameters, outputs;
  std::vector<at::Tensor> scratch = std::vector<at::Tensor>(LowRank::scratch_count);
  std::vector<at::Tensor> input_gradients, parameter_gradients, output_gradients;

  at::Tensor& operator[](const OperandId& id) {
    auto& kind = id.kind == OperandId::Kind::input       ? inputs
                 : id.kind == OperandId::Kind::parameter ? parameters
                                                         : outputs;
    return kind.at(static_cast<std::size_t>(id.index));
  }
  const at::Tensor& operator[](const OperandId& id) const {
    return const_cast<Tensors&>(*this)[id];
  }
  /// As many, all absent.
  Tensors none() const {
    return {.inputs = std::vector<at::Tensor>(inputs.size()),
            .parameters = std::vector<at::Tensor>(parameters.size()),
            .outputs = std::vector<at::Tensor>(outputs.size()),
            .scratch = scratch};
  }
};

/// An instruction of a block that has this operation alone.
class Instruction {
 public:
  /// Outputs that it does not write it reads.
  Instruction(const LowRank& operation, const Tensors& operands, const std::vector<int>& writes) {
    op_.operation = operation;
    for (std::size_t i = 0; i < operands.inputs.size(); ++i)
      op_.inputs.push_back(
          slot(i == LowRank::positions ? Role::batch : Role::value, operands.inputs[i], How::read));
    for (std::size_t i = 0; i < operands.outputs.size(); ++i) {
      const bool written = std::ranges::count(writes, static_cast<int>(i)) > 0;
      op_.outputs.push_back(
          slot(Role::saved, operands.outputs[i], written ? How::overwrite : How::read));
    }
    for (const at::Tensor& t : operands.scratch)
      op_.scratch.push_back(slot(Role::scratch, t, How::overwrite));
    for (const at::Tensor& t : operands.output_gradients)
      op_.output_gradients.push_back(slot(Role::value_gradient, t, How::read));
    for (const at::Tensor& t : operands.input_gradients)
      op_.input_gradients.push_back({.to = slot(Role::value_gradient, t, How::overwrite)});
    for (std::size_t p = 0; p < operands.parameters.size(); ++p)
      add_parameter(operands.parameters[p], p < operands.parameter_gradients.size()
                                                ? operands.parameter_gradients[p]
                                                : at::Tensor());
    graph_.blocks.push_back(block_);
  }

  void run_forward() const {
    run([&](const operations::OpContext& c) { operation().run_forward(c); });
  }
  void run_backward() const {
    run([&](const operations::OpContext& c) { operation().run_backward(c); });
  }

 private:
  const LowRank& operation() const { return std::get<LowRank>(op_.operation); }

  template <class F>
  void run(const F& f) const {
    const operations::BlockContext block(graph_, graph_.blocks.front(), operands_, how_,
                                         operations::Mode::train, 1, 1);
    f(operations::OpContext(block, operations::BoundBlock{}, op_));
  }

  void add_parameter(const at::Tensor& value, const at::Tensor& gradient) {
    const at::Tensor& like = value.defined() ? value : gradient;
    const int group = static_cast<int>(graph_.groups.size());
    graph_.groups.push_back({.name = "p"});
    if (like.defined())
      graph_.groups.back() = {.name = "p",
                              .parameters = {{.name = "p", .dims = like.sizes().vec()}},
                              .elements = like.numel()};
    const auto flat = [](const at::Tensor& t) { return t.defined() ? t.view({-1}) : t; };
    op_.parameters.push_back(
        {.value = slot(Role::parameter, flat(value), How::read, group),
         .gradient = slot(Role::gradient, flat(gradient), How::overwrite, group)});
  }

  /// Absent operands have a slot that the instruction does not use.
  program::Slot slot(Role role, const at::Tensor& t, How how, int index = program::none) {
    kept_.push_back(t);
    operands_.push_back(t.defined() ? Tensor(t) : Tensor());
    how_.push_back(how);
    block_.slots.push_back({.name = "s", .role = role, .index = index});
    if (t.defined()) block_.slots.back().tensor = {"s", operands_.back().dtype, t.sizes().vec()};
    return static_cast<program::Slot>(operands_.size()) - 1;
  }

  operations::BoundOp op_;
  program::ModelGraph graph_;
  program::BlockSpec block_;
  std::vector<at::Tensor> kept_;
  std::vector<Tensor> operands_;
  std::vector<How> how_;
};

operations::TensorType type_of(const at::Tensor& t) {
  return t.defined() ? operations::TensorType{Tensor(t).dtype, t.sizes().vec()}
                     : operations::TensorType{};
}

at::Tensor exact(const at::Tensor& t) { return t.to(at::kDouble); }

/// Adapters of two parts of a layer, with random operands.
struct Adapters {
  at::ScalarType type;
  Base base;
  double dropout, second_scale;
  Operands random{type};
  LowRank operation;
  Tensors all;
  operations::Types types;

  Adapters(at::ScalarType type_of_all, Base added_to, double dropped, double scale)
      : type(type_of_all), base(added_to), dropout(dropped), second_scale(scale) {
    // without a base the parts cover all columns
    operation = {.parts = {{.first = 0, .width = 3, .rank = 2, .scale = 0.5},
                           {.first = 5, .width = 4, .rank = 1, .scale = second_scale}},
                 .dropout = dropout,
                 .length = length};
    if (base == Base::none) operation.parts.back() = {3, 6, 1, second_scale};
    all.inputs = {random.normal({rows, in}),
                  base == Base::result ? random.normal({rows, out}) : at::Tensor(),
                  dropout > 0 ? at::arange(rows / length, at::kLong) : at::Tensor()};
    all.parameters = {has_weight() ? random.normal({out, in}) : at::Tensor(),
                      base == Base::biased_weight ? random.normal({out}) : at::Tensor(),
                      random.normal({3, in})};
    for (const operations::LowRankPart& p : operation.parts)
      all.parameters.push_back(random.normal({p.width, p.rank}));
    types.compute = Tensor(all.inputs.front()).dtype;
    for (const at::Tensor& x : all.inputs) types.inputs.push_back(type_of(x));
    for (const at::Tensor& p : all.parameters) types.parameters.push_back(type_of(p));
    types.frozen_parameters = {1, 1};
    for (const operations::OutputSpec& o : operation.outputs(types))
      all.outputs.push_back(random.empty(o.type.dims));
    set_scratch(operations::Direction::forward);
  }

  bool has_weight() const { return base == Base::weight || base == Base::biased_weight; }

  void set_scratch(operations::Direction direction) {
    const auto specs = operation.cost(direction, types).scratch;
    for (std::size_t i = 0; i < specs.size(); ++i)
      all.scratch[i] = !specs[i].type.defined() ? at::Tensor()
                       : i == LowRank::cast     ? random.empty(specs[i].type.dims, at::kFloat)
                                                : random.empty(specs[i].type.dims);
  }

  at::Tensor a_of(std::size_t part) const {
    return exact(all.parameters[LowRank::a])
        .narrow(0, part == 0 ? 0 : operation.parts[0].rank, operation.parts[part].rank);
  }
  at::Tensor b_of(std::size_t part) const {
    return exact(all.parameters[static_cast<std::size_t>(LowRank::b_of(part))]);
  }
};

Adapters drawn() {
  const auto type = GENERATE(at::kFloat, at::kBFloat16);
  const auto base = GENERATE(Base::none, Base::result, Base::weight, Base::biased_weight);
  const double dropout = GENERATE(0.0, 0.5), second_scale = GENERATE(0.5, 2.0);
  return {type, base, dropout, second_scale};
}

std::string words(const Adapters& t) {
  return std::string(c10::toString(t.type)) + " base " + std::to_string(static_cast<int>(t.base)) +
         " dropout " + std::to_string(t.dropout) + " second scale " +
         std::to_string(t.second_scale) + " seed " + std::to_string(t.random.seed());
}

}  // namespace

TEST_CASE("an adapter's outputs are made anew of what they are computed from") {
  Adapters t = drawn();
  INFO(words(t));
  Instruction(t.operation, t.all, {LowRank::narrow, LowRank::y}).run_forward();
  const std::vector<at::Tensor> whole{t.all.outputs[0].clone(), t.all.outputs[1].clone()};
  if (t.dropout == 0) {
    const at::Tensor x = exact(t.all.inputs[LowRank::x]);
    at::Tensor want = at::zeros({rows, out}, at::kDouble);
    if (t.base == Base::result) want = exact(t.all.inputs[LowRank::base]).clone();
    if (t.has_weight()) want = at::mm(x, exact(t.all.parameters[LowRank::weight]).t());
    if (t.base == Base::biased_weight) want += exact(t.all.parameters[LowRank::bias]);
    for (std::size_t k = 0; k < t.operation.parts.size(); ++k) {
      const operations::LowRankPart& p = t.operation.parts[k];
      want.narrow(1, p.first, p.width) += x.mm(t.a_of(k).t()).mm(t.b_of(k).t()) * p.scale;
    }
    CHECK(error(whole[LowRank::y], doubles(want)) <= 2 * t.random.tolerance());
  }
  const auto specs = t.operation.outputs(t.types);
  for (const std::vector<int>& written :
       {std::vector<int>{LowRank::narrow}, {LowRank::y}, {LowRank::narrow, LowRank::y}}) {
    INFO("outputs written: " << written.size() << ", from " << written.front() << " on");
    Tensors some = t.all.none();
    for (const int o : written)
      for (const OperandId& id : specs[static_cast<std::size_t>(o)].from)
        some[id] = id.kind == OperandId::Kind::output ? whole[static_cast<std::size_t>(id.index)]
                                                      : t.all[id];
    for (const int o : written)
      some.outputs[static_cast<std::size_t>(o)] =
          t.random.empty(specs[static_cast<std::size_t>(o)].type.dims);
    Instruction(t.operation, some, written).run_forward();
    for (const auto o : written)
      CHECK(
          at::equal(some.outputs[static_cast<std::size_t>(o)], whole[static_cast<std::size_t>(o)]));
  }
  Tensors kept = t.all.none();
  kept.outputs = whole;
  Instruction(t.operation, kept, {}).run_forward();  // writes nothing, and reads nothing else
}

TEST_CASE("an adapter's backward reads what it says and makes the formula's gradients") {
  enum class Wanted : std::uint8_t { all, parameters, x };
  Adapters t = drawn();
  const auto wanted = GENERATE(Wanted::all, Wanted::parameters, Wanted::x);
  INFO(words(t) << " wanted " << static_cast<int>(wanted));
  Instruction(t.operation, t.all, {LowRank::narrow, LowRank::y}).run_forward();
  if (wanted == Wanted::parameters) t.types.constant_inputs = {1, 1, 1};
  if (wanted == Wanted::x) t.types.frozen_parameters.assign(t.all.parameters.size(), 1);
  t.set_scratch(operations::Direction::backward);
  const operations::BackwardSpec spec =
      operations::only_wanted(t.operation.backward(t.types), t.types);
  const at::Tensor dy = t.random.normal({rows, out});
  const auto run = [&](Tensors operands) {
    operands.output_gradients = {at::Tensor(), dy};
    operands.input_gradients.resize(operands.inputs.size());
    operands.parameter_gradients.resize(operands.parameters.size());
    for (const operations::InputGradient& g : spec.inputs)
      operands.input_gradients[static_cast<std::size_t>(g.input)] =
          t.random.empty(t.all.inputs[static_cast<std::size_t>(g.input)].sizes());
    for (const int p : spec.parameters)
      operands.parameter_gradients[static_cast<std::size_t>(p)] =
          t.random.empty(t.all.parameters[static_cast<std::size_t>(p)].sizes(), at::kFloat);
    Instruction(t.operation, operands, {}).run_backward();
    return operands;
  };
  Tensors few = t.all.none();
  for (const OperandId& id : spec.reads) few[id] = t.all[id];
  const Tensors got = run(few), with_all = run(t.all);
  const auto same = [](const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b) {
    return std::ranges::equal(a, b, [](const at::Tensor& one, const at::Tensor& other) {
      return one.defined() == other.defined() && (!one.defined() || at::equal(one, other));
    });
  };
  CHECK(same(got.input_gradients, with_all.input_gradients));
  CHECK(same(got.parameter_gradients, with_all.parameter_gradients));
  if (t.dropout > 0) return;

  const at::Tensor x = exact(t.all.inputs[LowRank::x]),
                   narrow = exact(t.all.outputs[LowRank::narrow]);
  at::Tensor dx = t.has_weight() ? exact(dy).mm(exact(t.all.parameters[LowRank::weight]))
                                 : at::zeros({rows, in}, at::kDouble);
  const at::Tensor d_a = at::zeros({3, in}, at::kDouble);
  const double tolerance = 3 * t.random.tolerance();
  std::int64_t at = 0;
  for (std::size_t k = 0; k < t.operation.parts.size(); ++k) {
    const operations::LowRankPart& p = t.operation.parts[k];
    const at::Tensor of_part = exact(dy).narrow(1, p.first, p.width),
                     d_narrow = of_part.mm(t.b_of(k)) * p.scale;
    d_a.narrow(0, at, p.rank) += d_narrow.t().mm(x);
    dx += d_narrow.mm(t.a_of(k));
    if (const at::Tensor& d_b = got.parameter_gradients[static_cast<std::size_t>(LowRank::b_of(k))];
        d_b.defined())
      CHECK(error(d_b, doubles(of_part.t().mm(narrow.narrow(1, at, p.rank)))) <= tolerance);
    at += p.rank;
  }
  const auto matches = [&](const at::Tensor& made, bool is_wanted, const at::Tensor& want) {
    CHECK(made.defined() == is_wanted);
    if (made.defined()) CHECK(error(made, doubles(want)) <= tolerance);
  };
  matches(got.parameter_gradients[LowRank::a], wanted != Wanted::x, d_a);
  matches(got.input_gradients[LowRank::x], wanted != Wanted::parameters, dx);
  matches(got.input_gradients[LowRank::base],
          wanted != Wanted::parameters && t.base == Base::result, exact(dy));
}

}  // namespace low_rank_op_test
