// The operands of a block, by slot.
#pragma once
#include "graph/lowered_block.hpp"

namespace trainx::graph {

using operations::Slot;

/// Makes the block's slots as they are first asked for.
class Slots {
 public:
  Slots(const Lowering& of, program::BlockSpec& spec) : of_(of), spec_(spec) {}

  Slot batch(const ModelValue& value);
  Slot value(int index, bool gradient = false);
  Slot group(int index, bool gradient = false);
  Slot scalar(int index);
  Slot saved(std::string name, const operations::OutputSpec& output);
  Slot scratch(std::string name, const operations::TensorType& type);
  /// Of an operation's own, made of a parameter alone.
  Slot cast_weight(std::string name, const operations::TensorType& type, std::vector<Slot> from,
                   bool once_a_run);
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

}  // namespace trainx::graph
