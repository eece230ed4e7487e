#include "program/decode.hpp"
#include "program/memory.hpp"
#include <map>
#include <tuple>

namespace trainx::program {
namespace {

class DecodeBuilder {
 public:
  DecodeBuilder(const ModelGraph& graph, std::int64_t capacity) : graph_(graph) {
    for (std::size_t b = 0; b < graph.blocks.size(); ++b)
      for (std::size_t s = 0; s < graph.blocks[b].slots.size(); ++s)
        if (const SlotSpec& slot = graph.blocks[b].slots[s]; slot.cached)
          add(static_cast<int>(b), static_cast<Slot>(s),
              {.name = graph.blocks[b].name + "." + slot.name,
               .role = Role::cache,
               .index = static_cast<int>(b),
               .item = static_cast<int>(s),
               .dtype = slot.tensor.dtype,
               .elements = slot.tensor.elements() / slot.tensor.dims.front() * capacity,
               .resident = true});
    if (graph.memory == none) return;
    const TensorSpec& memory = graph.values[static_cast<std::size_t>(graph.memory)];
    shared_[{Role::value, graph.memory}] = add_buffer(p_, {.name = memory.name,
                                                           .role = Role::cache,
                                                           .index = graph.memory,
                                                           .dtype = memory.dtype,
                                                           .elements = memory.elements(),
                                                           .resident = true});
  }

  StepProgram run() {
    for (std::size_t b = 0; b < graph_.blocks.size(); ++b) {
      const BlockSpec& block = graph_.blocks[b];
      const Op op = block.phases.contains(Op::predict) ? Op::predict : Op::forward;
      Instruction i{.op = op, .block = static_cast<int>(b), .micro = 0};
      for (const SlotUse& u : block.phases.at(op).uses)
        if (const BufferId buffer = operand(static_cast<int>(b), u.slot, op == Op::predict);
            buffer != none)
          i.uses.push_back(Use{buffer, u.how, u.slot});
      p_.steady.push_back(std::move(i));
    }
    return std::move(p_);
  }

 private:
  BufferId add(int block, Slot slot, Buffer buffer) {
    return by_slot_[{block, slot}] = add_buffer(p_, std::move(buffer));
  }

  /// none: not in the decoder's memory.
  BufferId operand(int block, Slot slot, bool head) {
    if (const auto known = by_slot_.find({block, slot}); known != by_slot_.end())
      return known->second;
    const SlotSpec& s =
        graph_.blocks[static_cast<std::size_t>(block)].slots[static_cast<std::size_t>(slot)];
    if (s.role == Role::value || s.role == Role::batch) {
      const bool placed = s.role == Role::batch ? host_writes(s) : head_reads(s);
      if (!placed) return none;
      const auto [at, is_new] = shared_.try_emplace({s.role, s.index}, none);
      if (is_new)
        at->second = add_buffer(p_, {.name = s.tensor.name,
                                     .role = s.role,
                                     .index = s.index,
                                     .micro = 0,
                                     .dtype = s.tensor.dtype,
                                     .elements = s.tensor.elements()});
      return at->second;
    }
    if (s.role != Role::saved && s.role != Role::scratch) return none;
    const std::int64_t elements = s.tensor.elements();
    return add(block, slot,
               {.name = graph_.blocks[static_cast<std::size_t>(block)].name + "." + s.name,
                .role = Role::scratch,
                .index = block,
                .micro = 0,
                .dtype = s.tensor.dtype,
                .elements = head ? elements / s.tensor.dims.front() : elements});
  }
  static bool host_writes(const SlotSpec& batch) {
    const std::string& name = batch.tensor.name;
    return name == "tokens" || name == "target_tokens" || name == "lengths";
  }
  /// The last value is the copy of the logits.
  bool head_reads(const SlotSpec& value) const {
    return value.index + 1 < static_cast<int>(graph_.values.size());
  }

  const ModelGraph& graph_;
  StepProgram p_;
  std::map<std::pair<int, Slot>, BufferId> by_slot_;
  std::map<std::pair<Role, int>, BufferId> shared_;
};

}  // namespace

StepProgram decode_program(const ModelGraph& graph, std::int64_t capacity) {
  return DecodeBuilder(graph, capacity).run();
}

Bytes decode_bytes(const ModelGraph& longest, std::int64_t capacity) {
  return plan_memory(decode_program(longest, capacity)).peak_of(Space::device);
}

}  // namespace trainx::program
