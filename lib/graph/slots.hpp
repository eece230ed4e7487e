// The operands of a block, by slot, and which of them a phase uses.
#pragma once
#include "graph/lowered_block.hpp"

namespace trainx::graph {

using operations::Slot;

/// Slots of values; none of those that were not put. A block has few.
class Places {
 public:
  Slot of(ValueId v) const {
    for (const auto& [value, slot] : all_)
      if (value == v) return slot;
    return none;
  }
  void put(ValueId v, Slot s) {
    for (auto& [value, slot] : all_)
      if (value == v) return void(slot = s);
    all_.emplace_back(v, s);
  }

 private:
  std::vector<std::pair<ValueId, Slot>> all_;
};

/// Makes the block's slots as they are first asked for.
class Slots {
 public:
  Slots(const Lowering& of, program::BlockSpec& spec) : of_(of), spec_(spec) {}

  Slot batch(int index);
  Slot value(int index, bool gradient = false);
  Slot group(int index, bool gradient = false);
  Slot scalar(int index);
  Slot saved(std::string name, const operations::TensorType& type, bool cheap);
  Slot scratch(std::string name, const operations::TensorType& type);
  /// One for all that ask under this name: as large as the largest.
  Slot shared_scratch(const std::string& name, const operations::TensorType& type);

  program::SlotSpec& operator[](Slot s) { return spec_.slots[static_cast<std::size_t>(s)]; }
  /// The parameter's values; with `gradient` their gradients too.
  operations::BoundParameter bind(const ParameterId& p, bool value, bool gradient);

 private:
  Slot find_or_add(std::string name, program::Role role, int index,
                   const program::TensorSpec& like);
  Slot add(program::SlotSpec slot);
  std::string unused(std::string name) const;

  const Lowering& of_;
  program::BlockSpec& spec_;
};

/// Slots that a phase uses, each once: reads first, then what it writes.
class Uses {
 public:
  void read(Slot s) { note(s, program::How::read); }
  void write(Slot s, program::How how) { note(s, how); }
  std::vector<program::SlotUse> list() const;

 private:
  void note(Slot s, program::How how);
  std::vector<program::SlotUse> uses_;
};

/// Scratch for gradients inside a block: what was used up is used again.
class GradientScratch {
 public:
  explicit GradientScratch(Slots& slots) : slots_(slots) {}
  Slot take(const std::string& name, const operations::TensorType& type);
  /// Of slots that others made nothing happens.
  void give_back(Slot s);
  bool owns(Slot s) const;

 private:
  struct Entry {
    Slot slot;
    DType dtype;
    std::int64_t elements;
    bool free = false;
  };
  Slots& slots_;
  std::vector<Entry> entries_;
};

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
  Places at_;
  std::vector<Slot> written_;  // value gradients that this block has brought something to
};

/// Adds an operation's work of one direction to the phase, `times` over.
void add_cost(program::Phase& phase, const operations::Operation& operation,
              const operations::Cost& cost, const operations::BoundOp& bound,
              std::int64_t times = 1);

/// Scratch that the operation's cost asks for, overwritten by the phase.
std::vector<Slot> bind_scratch(const operations::Cost& cost, Slots& slots, Uses& uses);

}  // namespace trainx::graph
