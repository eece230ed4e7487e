#include "core/error.hpp"
#include "graph/backward_walk.hpp"
#include "graph/costs.hpp"
#include <algorithm>

namespace trainx::graph {

using namespace operations;
using program::How;
using program::Op;
using program::Phase;

namespace {

class HeadLowering {
 public:
  explicit HeadLowering(const Lowering& of)
      : of_(of), block_(of.block()), head_(of.model.head), slots_(of, out_.spec) {
    out_.spec.name = block_.name;
    out_.spec.parts = block_.parts;
  }

  LoweredBlock run() {
    place_operands();
    for (const Node& op : block_.ops) place_values(op);
    for (const Op phase : {Op::loss, Op::evaluate}) lower(phase);
    if (head_.predicted_rows > 0) lower(Op::predict);
    if (std::ranges::any_of(block_.ops, [](const Node& op) {
          return std::holds_alternative<PartLoss>(op.operation);
        }))
      note_origins();
    return std::move(out_);
  }

 private:
  /// All ranks make the same sums, of what all of them know.
  void note_origins() {
    for (const Node& op : block_.ops) {
      std::visit(
          [&]<class T>(const T&) {
            if constexpr (std::is_same_v<T, PartLoss>)
              for (const Slot s : {bound().loss_sum, bound().target_count, bound().score})
                comes_from(s, op, {T::all, T::targets});
            else if constexpr (requires { T::all, T::targets; })
              comes_from(bound().loss_sum, op, {T::all});
          },
          op.operation);
      if (std::holds_alternative<ExpertLoads>(op.operation))
        for (std::size_t layer = 0; layer < op.inputs.size(); ++layer)
          comes_from(bound().loads, op, {static_cast<int>(layer)});
    }
  }

  void comes_from(Slot made, const Node& op, std::initializer_list<int> inputs) {
    for (const int i : inputs)
      if (made != none)
        slots_[made].from.push_back(slot_of(op.inputs[static_cast<std::size_t>(i)], false));
  }

  BoundBlock& bound() { return out_.bound; }
  bool picks() const { return head_.rows != HeadRows::all; }
  static_assert(int{CrossEntropy::logits} == int{ValueLoss::logits});
  static bool is_loss(const Node& op) {
    return std::holds_alternative<CrossEntropy>(op.operation) ||
           std::holds_alternative<ValueLoss>(op.operation);
  }
  static bool has_own_loss(const Node& op) {
    const auto* module = std::get_if<Module>(&op.operation);
    return module && module->loss == Module::Loss::own;
  }
  static bool is_dropout(const Node& op) {
    return std::holds_alternative<DropoutLayer>(op.operation);
  }

  void place_operands() {
    BoundBlock& b = bound();
    b.length = block_.length;
    b.rows_of_part = block_.rows_of_part;
    b.rows = head_.rows;
    b.chunk = head_.chunk;
    if (head_.targets != none) b.targets = slots_.batch(of_.value(head_.targets));
    int scalar = 0;
    b.loss_sum = slots_.scalar(scalar++);
    b.target_count = slots_.scalar(scalar++);
    if (!of_.model.scores.empty()) b.score = slots_.scalar(scalar++);
    if (of_.model.loads) b.loads = slots_.scalar(scalar++);
    scalar += of_.model.fp8_counts.has_value() + of_.model.fp8_ranges.has_value();
    if (of_.model.scaled) b.loss_scale = slots_.scalar(scalar);
    if (head_.predicted_rows > 0)
      b.logits = slots_.value(static_cast<int>(of_.graph.values.size()) - 1);
    if (!picks()) return;
    const std::int64_t rows = head_.rows == HeadRows::first ? of_.model.batch_size
                              : block_.rows_of_part > 0     ? block_.rows_of_part
                                                            : of_.model.target_rows();
    b.row_index = slots_.scratch("rows", {DType::i64, {rows}});
    if (head_.rows == HeadRows::targets)
      b.row_targets = slots_.scratch("row_targets", {DType::i32, {rows}});
  }

  /// The operation's operands for `rows` rows at a time; 0: as they are.
  Types types_of(const Node& op, std::int64_t rows) const {
    const auto node = static_cast<std::size_t>(&op - block_.ops.data());
    Types t = of_.map.facts[static_cast<std::size_t>(of_.number)][node].types;
    if (rows == 0) return t;
    for (std::size_t i = 0; i < t.inputs.size(); ++i)
      if (op.inputs[i] != none && of_.value(op.inputs[i]).batch == none)
        t.inputs[i].dims.front() = rows;
    if (const auto* sum = std::get_if<ResidualNorm>(&op.operation); sum && sum->adds && picks())
      t.inputs[ResidualNorm::rows] = {DType::i64, {rows}};
    return t;
  }

  void place_values(const Node& op) {
    const Types types = types_of(op, head_.chunk);
    const std::vector<OutputSpec> outputs = outputs_of(op.operation, types);
    for (std::size_t o = 0; o < outputs.size(); ++o)
      if (const ValueId v = op.outputs[o]; v != none)
        at_.put(v, slots_.scratch(of_.value(v).name, outputs[o].type));
  }

  Slot slot_of(ValueId v, bool trains) {
    if (v == none) return none;
    if (of_.value(v).batch != none) {
      if (v == head_.targets && bound().row_targets != none) return bound().row_targets;
      return slots_.batch(of_.value(v));
    }
    if (!of_.is_made_here(v)) return slots_.value(of_.crossing(v));
    if (!trains)  // nothing is dropped: what would be is read
      for (const Node& op : block_.ops)
        if (is_dropout(op) && op.outputs.front() == v) return slot_of(op.inputs.front(), false);
    return at_.of(v);
  }

  BoundOp bind(const Node& op, bool trains) {
    BoundOp b{.operation = op.operation};
    for (const ValueId v : op.inputs) b.inputs.push_back(slot_of(v, trains));
    if (const auto* sum = std::get_if<ResidualNorm>(&op.operation); sum && sum->adds)
      b.inputs[ResidualNorm::rows] = bound().row_index;
    for (const ValueId v : op.outputs) b.outputs.push_back(slot_of(v, true));
    for (const ParameterId& p : op.parameters) b.parameters.push_back(slots_.bind(p, true, false));
    return b;
  }

  std::int64_t rows_of(Op phase) const {
    return phase == Op::predict ? of_.model.batch_size : head_.expected_rows;
  }

  void lower(Op which) {
    Phase& phase = out_.spec.phases[which];
    Uses uses;
    const bool trains = which == Op::loss;
    use_common(which, uses);
    std::vector<BoundOp> all;
    for (const Node& op : block_.ops) {
      if ((is_loss(op) && which == Op::predict) || (is_dropout(op) && !trains)) continue;
      BoundOp b = bind(op, trains);
      Cost cost = cost_of(op.operation, Direction::forward, types_of(op, head_.chunk));
      if (std::holds_alternative<CrossEntropy>(op.operation) && trains)
        cost.scratch[CrossEntropy::predictions].type = {};
      b.scratch = bind_scratch(cost, slots_, uses);
      if (is_loss(op)) bound().last_logits = b.inputs[CrossEntropy::logits];
      use_forward(op, b, trains, uses);
      add_costs(phase, op, b, Direction::forward, which);
      all.push_back(std::move(b));
    }
    if (trains) {
      bound().backward = backward(phase, uses);
      bound().forward = std::move(all);
    } else if (which == Op::evaluate) {
      bound().evaluated = std::move(all);
    }
    phase.uses = uses.list();
    // buffers of one size are placed in this order: first those that outlive the phase, gradients
    if (trains) std::ranges::reverse(phase.uses);
  }

  void use_common(Op which, Uses& uses) {
    BoundBlock& b = bound();
    const bool reads_targets = which != Op::predict || head_.rows != HeadRows::first;
    if (reads_targets && b.targets != none) uses.read(b.targets);
    if (b.row_index != none) uses.write(b.row_index, How::overwrite);
    if (which == Op::predict) return uses.write(b.logits, How::overwrite);
    if (b.row_targets != none) uses.write(b.row_targets, How::overwrite);
    uses.write(b.loss_sum, How::accumulate);
    uses.write(b.target_count, How::accumulate);
    const bool scores = which == Op::evaluate || has_own_loss(block_.ops.back());
    if (scores && b.score != none) uses.write(b.score, How::accumulate);
    if (which == Op::loss && b.loads != none) uses.write(b.loads, How::accumulate);
    if (which == Op::loss && b.loss_scale != none) uses.read(b.loss_scale);
  }

  void use_forward(const Node& op, const BoundOp& b, bool trains, Uses& uses) {
    for (std::size_t i = 0; i < b.inputs.size(); ++i) {
      const ValueId v = op.inputs[i];
      if (v == none || is_loss(op)) continue;
      // those of an own loss tell which rows are samples of the data
      if (v == of_.model.positions && !trains && !has_own_loss(op)) continue;
      if (of_.value(v).batch != none || !of_.is_made_here(v)) uses.read(b.inputs[i]);
    }
    for (const BoundParameter& p : b.parameters)
      if (p.value != none) uses.read(p.value);
    for (const Slot s : b.outputs)
      if (s != none) uses.write(s, How::overwrite);
  }

  std::vector<BoundOp> backward(Phase& phase, Uses& uses) {
    BackwardWalk walk(of_, slots_, uses);
    walk.begin();
    std::vector<BoundOp> all;
    for (std::size_t k = block_.ops.size(); k-- > 0;) {
      const Node& op = block_.ops[k];
      const Types types = types_of(op, head_.chunk);
      BoundOp b = bind(op, true);
      if (is_loss(op)) {  // its gradient lies where the logits were
        walk.place(op.inputs[CrossEntropy::logits], b.inputs[CrossEntropy::logits]);
        continue;
      }
      const BackwardSpec spec = backward_of(op.operation, types);
      if (!spec.is_needed()) continue;
      b.scratch = bind_scratch(cost_of(op.operation, Direction::backward, types), slots_, uses);
      walk.add(op, types, spec, b);
      add_costs(phase, op, b, Direction::backward, Op::loss);
      all.push_back(std::move(b));
    }
    std::ranges::reverse(all);
    return all;
  }

  /// Of all turns: full ones, and what is left.
  void add_costs(Phase& phase, const Node& op, const BoundOp& b, Direction direction, Op which) {
    const std::int64_t rows = rows_of(which), R = head_.chunk;
    BoundOp none_kept = b;
    std::ranges::fill(none_kept.outputs, none);  // a head is never recomputed
    const auto add = [&](std::int64_t some, std::int64_t times) {
      if (times > 0)
        add_cost(phase, op.operation, cost_of(op.operation, direction, types_of(op, some)),
                 none_kept, times);
    };
    add(R, R > 0 ? rows / R : 1);
    if (R > 0 && rows % R > 0) add(rows % R, 1);
  }

  const Lowering& of_;
  const Block& block_;
  const Head& head_;
  LoweredBlock out_;
  Slots slots_;
  ValueSlots at_;
};

}  // namespace

LoweredBlock lower_head(const Lowering& of) { return HeadLowering(of).run(); }

}  // namespace trainx::graph
