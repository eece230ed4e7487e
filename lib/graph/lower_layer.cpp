#include "core/error.hpp"
#include "graph/backward_walk.hpp"
#include "graph/costs.hpp"
#include <algorithm>
#include <map>
#include <optional>
#include <utility>

namespace trainx::graph {

using namespace operations;
using program::How;
using program::Op;
using program::Phase;

namespace {

class LayerLowering {
 public:
  explicit LayerLowering(const Lowering& of) : of_(of), block_(of.block()), slots_(of, out_.spec) {
    out_.spec.name = block_.name;
    out_.spec.layer = block_.layer;
    out_.spec.parts = block_.parts;
    if (const auto* exchange = std::get_if<Exchange>(&block_.ops.front().operation))
      out_.spec.exchange = exchange->kind;
    out_.bound.length = of.block().length;
    out_.bound.rows_of_part = block_.rows_of_part;
    const std::vector<NodeFacts>& facts = of.map.facts[static_cast<std::size_t>(of.number)];
    infos_.reserve(block_.ops.size());
    for (std::size_t k = 0; k < block_.ops.size(); ++k)
      infos_.push_back({block_.ops[k], facts[k].types, facts[k].outputs, facts[k].backward});
    find_needed();
  }

  LoweredBlock run() {
    find_counts();
    place_values();
    mark_caches();
    forward();
    cast_frozen_weights();
    origins();
    backward();
    return std::move(out_);
  }

 private:
  struct Info {
    const Node& op;
    const Types& types;
    const std::vector<OutputSpec>& outputs;
    const BackwardSpec& backward;
  };

  bool keeps() const { return block_.kind == BlockKind::layer; }

  ValueId value_of(const Node& op, OperandId o) const {
    return (o.kind == OperandId::Kind::input ? op.inputs
                                             : op.outputs)[static_cast<std::size_t>(o.index)];
  }

  static bool casts_to_fp8(const Operation& o) {
    const auto* linear = std::get_if<Linear>(&o);
    return std::holds_alternative<Quantize>(o) || (linear && linear->fp8);
  }
  static bool takes_fp8_weight(const Operation& o) {
    const auto* linear = std::get_if<Linear>(&o);
    return linear && linear->fp8 && linear->fp8->takes_fp8_weight();
  }
  void find_counts() {
    const bool casts = std::ranges::any_of(
        infos_, [](const Info& info) { return casts_to_fp8(info.op.operation); });
    for (std::size_t k = 0; casts && k < of_.graph.scalars.size(); ++k) {
      const program::ScalarSpec& s = of_.graph.scalars[k];
      if (s.name == program::fp8_counts) out_.bound.fp8_counts = slots_.scalar(static_cast<int>(k));
      if (s.role == program::Role::fp8_ranges)
        out_.bound.fp8_ranges = slots_.scalar(static_cast<int>(k));
      if (s.role == program::Role::fp8_scales && std::ranges::any_of(infos_, [](const Info& info) {
            return takes_fp8_weight(info.op.operation);
          }))
        out_.bound.fp8_scales = slots_.scalar(static_cast<int>(k));
    }
  }

  void use_scales(Uses& uses) const {
    if (out_.bound.fp8_ranges != none) uses.read(out_.bound.fp8_ranges);
    if (out_.bound.fp8_scales != none) uses.read(out_.bound.fp8_scales);
    if (out_.bound.fp8_counts != none) uses.write(out_.bound.fp8_counts, How::accumulate);
  }

  /// Values that backward reads.
  void find_needed() {
    for (const Info& info : infos_)
      for (const OperandId o : info.backward.reads)
        if (o.kind != OperandId::Kind::parameter)
          if (const ValueId v = value_of(info.op, o); v != none) needed_.push_back(v);
  }

  Slot slot_of_input(ValueId v) {
    if (v == none) return none;
    if (of_.value(v).batch != none) return slots_.batch(of_.value(v));
    if (!of_.is_made_here(v)) return slots_.value(of_.crossing(v));
    return at_.of(v);
  }
  bool is_needed(ValueId v) const { return std::ranges::find(needed_, v) != needed_.end(); }

  /// Where the values that the block makes lie. What backward makes anew passes through the
  /// block's own value, in place.
  void place_values() {
    Slot last = none;
    for (const Info& info : infos_)
      for (const ValueId v : info.op.outputs)
        if (v != none && of_.crossing(v) != none) at_.put(v, last = slots_.value(of_.crossing(v)));
    for (std::size_t k = 0; k < infos_.size(); ++k)
      for (std::size_t o = 0; o < infos_[k].op.outputs.size(); ++o) {
        const ValueId v = infos_[k].op.outputs[o];
        if (v == none || of_.crossing(v) != none) continue;
        const OutputSpec& spec = infos_[k].outputs[o];
        if (spec.space == program::Space::library && !is_needed(v)) continue;  // nobody keeps it
        if (!spec.type.defined()) continue;  // the operation does not make it
        if (keeps())
          at_.put(v, is_needed(v) ? slots_.saved(of_.value(v).name, spec)
                                  : slots_.scratch(of_.value(v).name, spec.type));
        else if (k + 1 < infos_.size() && infos_[k + 1].op.inputs.front() == v)
          at_.put(v, last);
      }
  }

  /// A causal model goes on from keys and values of the tokens before.
  void mark_caches() {
    for (const Info& info : infos_)
      if (const auto* a = std::get_if<Attention>(&info.op.operation);
          a && a->mask == AttentionMask::causal)
        if (const Slot s = slot_of_input(info.op.inputs[Attention::qkv]); s != none)
          slots_[s].cached = true;
  }

  BoundOp bind(const Info& info, Uses& uses, const ValueSlots& at, Direction direction,
               const Cost& cost) {
    BoundOp bound{.operation = info.op.operation};
    for (const ValueId v : info.op.inputs) {
      const bool here = v != none && of_.value(v).batch == none && of_.is_made_here(v);
      bound.inputs.push_back(here ? at.of(v) : slot_of_input(v));
    }
    for (const ValueId v : info.op.outputs) bound.outputs.push_back(v == none ? none : at.of(v));
    for (const ParameterId& p : info.op.parameters)
      bound.parameters.push_back(
          slots_.bind(p, direction == Direction::forward && reads(info, p), false));
    bound.scratch = bind_scratch(cost, slots_, uses);
    bind_cast_weights(info, uses, direction, cost, bound);
    return bound;
  }
  /// Forward makes them, backward reads those of forward. Both read those that are made once a run.
  void bind_cast_weights(const Info& info, Uses& uses, Direction direction, const Cost& cost,
                         BoundOp& bound) {
    const auto op = static_cast<std::size_t>(&info - infos_.data());
    for (std::size_t k = 0; k < cost.scratch.size(); ++k) {
      const ScratchSpec& s = cost.scratch[k];
      if (!s.type.defined() || s.of_parameter == program::none) continue;
      const auto of = static_cast<std::size_t>(s.of_parameter);
      const auto [known, is_new] = cast_weights_.try_emplace({op, k});
      if (is_new) {
        std::vector<Slot> from{bound.parameters[of].value};
        if (out_.bound.fp8_ranges != none && !s.once_a_run) from.push_back(out_.bound.fp8_ranges);
        known->second = {
            slots_.cast_weight(std::string(s.name), s.type, std::move(from), s.once_a_run),
            s.of_parameter, s.for_backward};
      }
      bound.scratch[k] = known->second.slot;
      if (direction == Direction::backward || (s.once_a_run && !s.for_backward))
        uses.read(known->second.slot);
      else if (!s.once_a_run)
        uses.write(known->second.slot, How::overwrite);
    }
  }
  /// Does forward read the parameter? Not one whose gradient is a by-product.
  static bool reads(const Info& info, const ParameterId& p) {
    for (const OutputSpec& o : info.outputs)
      for (const OperandId from : o.from)
        if (from.kind == OperandId::Kind::parameter &&
            info.op.parameters[static_cast<std::size_t>(from.index)].index == p.index)
          return true;
    return false;
  }

  /// Forward reads the copies of such weights.
  bool is_only_cast(const ParameterId& p) const {
    return of_.model.parameters[static_cast<std::size_t>(p.index)].only_cast;
  }

  /// Uses of forward operands: what is made in the same phase is not read from outside.
  void use_forward(const BoundOp& bound, const Info& info, Uses& uses) {
    for (std::size_t i = 0; i < bound.inputs.size(); ++i) {
      const ValueId v = info.op.inputs[i];
      if (bound.inputs[i] != none && (of_.value(v).batch != none || !of_.is_made_here(v)))
        uses.read(bound.inputs[i]);
    }
    for (std::size_t k = 0; k < bound.parameters.size(); ++k)
      if (const Slot s = bound.parameters[k].value;
          s != none && !is_only_cast(info.op.parameters[k]))
        uses.read(s);
    for (std::size_t o = 0; o < bound.outputs.size(); ++o)
      if (bound.outputs[o] != none) uses.write(bound.outputs[o], How::overwrite);
  }

  void forward() {
    Phase& phase = out_.spec.phases[Op::forward];
    Uses uses;
    for (const Info& info : infos_) {
      const Cost cost = cost_of(info.op.operation, Direction::forward, info.types);
      BoundOp bound = bind(info, uses, at_, Direction::forward, cost);
      use_forward(bound, info, uses);
      add_cost(phase, info.op.operation, cost, bound);
      out_.bound.forward.push_back(std::move(bound));
    }
    use_scales(uses);
    phase.uses = uses.list();
    if (cast_weights_.empty() || out_.bound.fp8_counts == none) return;
    // not of the cast weights, which a forward may also read
    for (const program::SlotUse& u : phase.uses)
      if (u.how == How::read && slots_[u.slot].role != program::Role::cast_weight)
        slots_[out_.bound.fp8_counts].from.push_back(u.slot);
  }

  void cast_frozen_weights() {
    Uses uses;
    std::optional<std::size_t> last;
    for (const auto& [at, weight] : cast_weights_) {
      if (!slots_[weight.slot].once_a_run) continue;
      const BoundOp& op = out_.bound.forward[at.first];
      if (std::exchange(last, at.first) != at.first)
        out_.bound.casts.push_back({.operation = op.operation,
                                    .inputs = {},
                                    .outputs = {},
                                    .scratch = op.scratch,
                                    .parameters = op.parameters,
                                    .output_gradients = {},
                                    .input_gradients = {}});
      uses.read(op.parameters[static_cast<std::size_t>(weight.parameter)].value);
      uses.write(weight.slot, How::overwrite);
    }
    if (!out_.bound.casts.empty()) out_.spec.phases[Op::cast_weights].uses = uses.list();
  }

  /// What the slot of each output is computed from: slots of its operation's operands, through
  /// values that have none of their own.
  void origins() {
    for (std::size_t k = 0; k < infos_.size(); ++k)
      for (std::size_t o = 0; o < infos_[k].outputs.size(); ++o) {
        const ValueId v = infos_[k].op.outputs[o];
        if (v == none || at_.of(v) == none) continue;
        if (!keeps() && of_.crossing(v) == none) continue;
        add_origins(k, o, slots_[at_.of(v)].from);
      }
  }
  void add_origins(std::size_t k, std::size_t o, std::vector<Slot>& from) {
    const Node& op = infos_[k].op;
    const auto note = [&](Slot s) {
      if (std::ranges::find(from, s) == from.end()) from.push_back(s);
    };
    if (out_.bound.fp8_ranges != none && casts_to_fp8(op.operation)) note(out_.bound.fp8_ranges);
    if (takes_fp8_weight(op.operation)) note(out_.bound.fp8_scales);
    for (const OperandId f : infos_[k].outputs[o].from) {
      if (f.kind == OperandId::Kind::parameter) {
        bool cast = false;
        for (const auto& [at, weight] : cast_weights_)
          if (at.first == k && weight.parameter == f.index) {
            cast = true;
            if (!weight.for_backward) note(weight.slot);
          }
        if (cast) continue;
        note(slots_.bind(op.parameters[static_cast<std::size_t>(f.index)], true, false).value);
        continue;
      }
      const ValueId v = value_of(op, f);
      if (of_.value(v).batch != none || !of_.is_made_here(v)) {
        note(slot_of_input(v));
        continue;
      }
      const Slot s = at_.of(v);
      if (s != none && keeps()) {
        note(s);
        continue;
      }
      for (std::size_t j = 0; j <= k; ++j)
        if (const auto at = std::ranges::find(infos_[j].op.outputs, v);
            at != infos_[j].op.outputs.end())
          add_origins(j, static_cast<std::size_t>(at - infos_[j].op.outputs.begin()), from);
    }
  }

  void backward() {
    const auto is_needed = [](const Info& info) { return info.backward.is_needed(); };
    if (std::ranges::none_of(infos_, is_needed)) return;
    Phase& phase = out_.spec.phases[Op::backward];
    Uses uses;
    ValueSlots at = at_;
    if (!keeps()) remake(phase, uses, at);
    BackwardWalk walk(of_, slots_, uses);
    walk.begin();
    std::vector<BoundOp>& all = out_.bound.backward;
    for (std::size_t k = infos_.size(); k-- > 0;) {
      const Info& info = infos_[k];
      if (!is_needed(info)) continue;
      const Cost cost = cost_of(info.op.operation, Direction::backward, info.types);
      BoundOp bound = bind(info, uses, at, Direction::backward, cost);
      for (const OperandId r : info.backward.reads) {
        if (r.kind == OperandId::Kind::parameter) {
          auto& p = bound.parameters[static_cast<std::size_t>(r.index)];
          p.value =
              slots_.bind(info.op.parameters[static_cast<std::size_t>(r.index)], true, false).value;
          if (p.value != none) uses.read(p.value);
        } else if (const ValueId v = value_of(info.op, r); v != none) {
          const Slot s = (r.kind == OperandId::Kind::input
                              ? bound.inputs
                              : bound.outputs)[static_cast<std::size_t>(r.index)];
          uses.read(s);
        }
      }
      walk.add(info.op, info.types, info.backward, bound);
      add_cost(phase, info.op.operation, cost, bound);
      all.push_back(std::move(bound));
    }
    std::ranges::reverse(all);
    const bool casts =
        std::ranges::any_of(all, [](const BoundOp& op) { return casts_to_fp8(op.operation); });
    if (casts) use_scales(uses);
    phase.uses = uses.list();
  }

  /// Values that backward reads and forward did not keep, as scratch.
  void remake(Phase& phase, Uses& uses, ValueSlots& at) {
    for (const Info& info : infos_) {
      bool any = false;
      for (std::size_t o = 0; o < info.op.outputs.size(); ++o) {
        const ValueId v = info.op.outputs[o];
        if (v == none) continue;
        const bool wanted = is_needed(v);
        at.put(v, wanted ? slots_.scratch(of_.value(v).name, info.outputs[o].type) : none);
        any |= wanted;
      }
      if (!any) continue;
      const Cost cost = cost_of(info.op.operation, Direction::forward, info.types);
      BoundOp bound = bind(info, uses, at, Direction::forward, cost);
      use_forward(bound, info, uses);
      add_cost(phase, info.op.operation, cost, bound);
      out_.bound.remade.push_back(std::move(bound));
    }
  }

  const Lowering& of_;
  const Block& block_;
  LoweredBlock out_;
  Slots slots_;
  std::vector<Info> infos_;
  std::vector<ValueId> needed_;
  ValueSlots at_;
  struct CastWeight {
    Slot slot = none;
    int parameter = none;  // of its operation
    bool for_backward = false;
  };
  std::map<std::pair<std::size_t, std::size_t>, CastWeight> cast_weights_;  // by operation, scratch
};

}  // namespace

LoweredBlock lower_layer(const Lowering& of) { return LayerLowering(of).run(); }

}  // namespace trainx::graph
