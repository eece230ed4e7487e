#include "model/gpt2/decoder.hpp"
#include "core/error.hpp"
#include "model/gpt2/blocks.hpp"
#include "operations/host_copy/host_copy.hpp"
#include "spec/arch/gpt2_slots.hpp"
#include <ATen/core/grad_mode.h>
#include <algorithm>

namespace trainx::model::gpt2 {

using program::BlockSpec, program::Role, program::ModelGraph, program::Op, program::SlotSpec,
    program::TensorSpec;

namespace {

bool is_head(const BlockSpec& block) { return block.phases.contains(Op::predict); }
const program::Phase& phase_of(const BlockSpec& block) {
  return block.phases.at(is_head(block) ? Op::predict : Op::forward);
}

ModelGraph graph_of(const spec::Gpt2Dims& dims, std::int64_t length) {
  return spec::gpt2_graph(dims, 1, length, DType::f32, spec::Machine(1));
}

/// Operands of one name share memory: blocks follow one another, and leave nothing but residual,
/// branch and cache.
std::string place_name(const ModelGraph& graph, const BlockSpec& block, const SlotSpec& slot) {
  if (slot.role == Role::batch) return graph.batch[static_cast<std::size_t>(slot.index)].name;
  if (slot.role == Role::value) {
    std::string name = graph.values[static_cast<std::size_t>(slot.index)].name;  // "residual3"
    while (name.back() >= '0' && name.back() <= '9') name.pop_back();
    return name;
  }
  return is_head(block) || slot.name == "qkv" ? block.name + "." + slot.name : slot.name;
}

TensorSpec tensor_of(const ModelGraph& graph, const BlockSpec& block, const SlotSpec& slot) {
  if (slot.role == Role::batch) return graph.batch[static_cast<std::size_t>(slot.index)];
  if (slot.role == Role::value) return graph.values[static_cast<std::size_t>(slot.index)];
  TensorSpec tensor = slot.tensor;
  if (is_head(block)) tensor.dims[0] = 1;  // it predicts from the last row alone
  return tensor;
}

/// What lies in a decoder's memory: not the parameters, not which row to predict from, which the
/// host reads, and not a copy of the logits.
bool is_placed(const BlockSpec& block, const SlotSpec& slot) {
  if (slot.role == Role::batch) return slot.index == spec::Gpt2Batch::tokens;
  if (slot.role == Role::value) return !is_head(block) || slot.name != "logits";
  return slot.role == Role::saved || slot.role == Role::scratch;
}

spec::Gpt2Dims without_dropout(spec::Gpt2Dims dims) {
  dims.dropout = 0;
  return dims;
}

}  // namespace

std::int64_t Decoder::place(const ModelGraph& graph, Places& places) {
  std::int64_t bytes = 0;
  for (const BlockSpec& block : graph.blocks)
    for (const program::SlotUse& use : phase_of(block).uses) {
      const SlotSpec& slot = block.slots[static_cast<std::size_t>(use.slot)];
      if (!is_placed(block, slot) || !places.emplace(place_name(graph, block, slot), bytes).second)
        continue;
      bytes += (tensor_of(graph, block, slot).bytes() + 255) / 256 * 256;
    }
  return bytes;
}

std::int64_t Decoder::memory_bytes(const spec::Gpt2Dims& dims, std::int64_t capacity) {
  Places places;
  return place(graph_of(without_dropout(dims), capacity), places);
}

Decoder::Decoder(const spec::Gpt2Dims& dims, std::int64_t capacity, std::vector<Tensor> groups,
                 std::byte* memory)
    : dims_(without_dropout(dims)),
      capacity_(capacity),
      groups_(std::move(groups)),
      memory_(memory),
      logits_(static_cast<std::size_t>(dims.vocab_size)) {
  const ModelGraph longest = graph_of(dims_, capacity);
  place(longest, places_);
  if (groups_.size() != longest.groups.size())
    throw InternalError("Decoder: not one tensor for each group of parameters");
}

Tensor Decoder::operand(const BlockSpec& block, const SlotSpec& slot) {
  if (slot.role == Role::parameter) return groups_[static_cast<std::size_t>(slot.index)];
  if (slot.role == Role::batch && slot.index == spec::Gpt2Batch::targets)
    return make_tensor(&last_row_, DType::i32, {1, 1});
  if (!is_placed(block, slot)) return {};
  TensorSpec tensor = tensor_of(graph_, block, slot);
  if (slot.name == "qkv") tensor.dims[0] = capacity_;
  return make_tensor(memory_ + places_.at(place_name(graph_, block, slot)), tensor.dtype,
                     tensor.dims, groups_.front().place);
}

void Decoder::prepare(std::int64_t length) {
  if (!blocks_.empty() && graph_.tokens == length) return;
  contexts_.clear();
  graph_ = graph_of(dims_, length);
  blocks_ = build_blocks({dims_, 1, length, &size_});
  for (const BlockSpec& block : graph_.blocks) {
    std::vector<Tensor> operands(block.slots.size());
    std::vector<program::How> how(block.slots.size(), program::How::read);
    for (const program::SlotUse& use : phase_of(block).uses) {
      const auto slot = static_cast<std::size_t>(use.slot);
      operands[slot] = operand(block, block.slots[slot]);
      how[slot] = use.how;
    }
    contexts_.emplace_back(graph_, block, std::move(operands), std::move(how), Mode::eval, 0, 1);
  }
  last_row_ = static_cast<std::int32_t>(length - 1);
}

std::span<const float> Decoder::append(std::span<const std::int32_t> tokens) {
  const auto length = static_cast<std::int64_t>(tokens.size());
  if (length < 1 || length > capacity_ - size_)
    throw InternalError("Decoder: " + std::to_string(length) + " tokens after " +
                        std::to_string(size_) + " of at most " + std::to_string(capacity_));
  if (const auto bad = std::ranges::find_if(
          tokens, [&](std::int32_t id) { return id < 0 || id >= dims_.vocab_size; });
      bad != tokens.end())
    throw InternalError("Decoder: token id " + std::to_string(*bad) + " of a vocabulary of " +
                        std::to_string(dims_.vocab_size));
  const at::NoGradGuard no_grad;
  prepare(length);
  operations::copy_in(contexts_.front()[spec::EmbeddingSlot::tokens], tokens.data());
  for (std::size_t b = 0; b + 1 < blocks_.size(); ++b) blocks_[b]->forward(contexts_[b]);
  blocks_.back()->predict(contexts_.back());
  operations::copy_out(
      logits_.data(),
      contexts_.back()[spec::HeadSlot::logits_chunk].view({-1}).narrow(0, 0, dims_.vocab_size));
  size_ += length;
  return logits_;
}

}  // namespace trainx::model::gpt2
