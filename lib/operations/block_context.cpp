#include "operations/block_context.hpp"
#include "core/error.hpp"

namespace trainx::operations {

using program::Slot;

BlockContext::BlockContext(const program::ModelGraph& graph, const program::BlockSpec& block,
                           std::vector<Tensor> operands, std::vector<program::How> how, Mode mode,
                           std::uint64_t seed, double loss_seed)
    : graph_(graph),
      block_(block),
      operands_(std::move(operands)),
      how_(std::move(how)),
      mode_(mode),
      seed_(seed),
      loss_seed_(loss_seed) {
  if (operands_.size() != block.slots.size() || how_.size() != block.slots.size())
    throw InternalError("BlockContext: not one operand per slot of " + block.name);
}

const Tensor& BlockContext::operator[](Slot s) const {
  if (!has(s))
    throw InternalError("block " + block_.name + " asks for slot " + std::to_string(s) +
                        ", which its instruction does not use");
  return operands_[s];
}

const program::ParameterSpec& BlockContext::parameter(Slot group_slot, int index) const {
  return graph_.groups.at(block_.slots[group_slot].index).in_blocks().at(index);
}

Tensor BlockContext::tensor(Slot group_slot, int index) const {
  const Tensor& group = (*this)[group_slot];
  const program::ParameterSpec& p = parameter(group_slot, index);
  return group.narrow(0, p.offset, p.elements()).view(p.dims);
}

Tensor BlockContext::joined(Slot group_slot, int first, int count) const {
  if (count == 1) return tensor(group_slot, first);
  const auto& parameters = graph_.groups.at(block_.slots[group_slot].index).in_blocks();
  const program::ParameterSpec& begin = parameters.at(first);
  std::int64_t elements = 0;
  for (int i = first; i < first + count; ++i) {
    if (parameters.at(i).offset != begin.offset + elements)
      throw InternalError("block " + block_.name + ": " + parameters[i].name +
                          " does not follow the tensor before it");
    elements += parameters[i].elements();
  }
  std::vector<std::int64_t> dims = begin.dims;
  dims[0] = elements / (begin.elements() / begin.dims[0]);
  return (*this)[group_slot].narrow(0, begin.offset, elements).view(dims);
}

std::vector<Slot> BlockContext::slots_of(program::Role role) const {
  std::vector<Slot> out;
  for (std::size_t s = 0; s < operands_.size(); ++s)
    if (operands_[s].defined() && block_.slots[s].role == role) out.push_back(static_cast<Slot>(s));
  return out;
}

tensor::RandomKey BlockContext::random_key(int site) const {
  const std::ptrdiff_t number = block_.random_key != program::none ? block_.random_key
                                                                   : &block_ - graph_.blocks.data();
  return {seed_, static_cast<std::uint32_t>(number), static_cast<std::uint32_t>(site)};
}

}  // namespace trainx::operations
