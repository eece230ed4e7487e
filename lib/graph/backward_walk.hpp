#pragma once
#include "graph/gradient_scratch.hpp"
#include "graph/uses.hpp"
#include "graph/value_slots.hpp"

namespace trainx::graph {

/// The backward of a block's operations, last first: where gradients come from and go to.
class BackwardWalk {
 public:
  BackwardWalk(const Lowering& of, Slots& slots, Uses& uses)
      : of_(of), slots_(slots), uses_(uses), scratch_(slots) {}

  /// What later blocks bring of the block's values.
  void begin();
  /// The gradient of the value lies there.
  void place(ValueId v, Slot s) { at_.put(v, s); }
  Slot at(ValueId v) const { return at_.of(v); }
  /// Completes `op`, whose inputs and outputs are bound: gradients, parameters' gradients.
  void add(const Node& op, const operations::Types& types, const operations::BackwardSpec& spec,
           operations::BoundOp& bound);

 private:
  void bring(const Node& op, const operations::Types& types, const operations::InputGradient& g,
             operations::BoundOp& bound);

  const Lowering& of_;
  Slots& slots_;
  Uses& uses_;
  GradientScratch scratch_;
  ValueSlots at_;
  std::vector<Slot> written_;  // value gradients that this block has brought something to
};

}  // namespace trainx::graph
