#include "model/decoder.hpp"
#include "core/error.hpp"
#include "core/half.hpp"
#include "model/composed_block.hpp"
#include "operations/host_copy/host_copy.hpp"
#include "program/decode.hpp"
#include <ATen/core/grad_mode.h>
#include <algorithm>
#include <utility>

namespace trainx::model {

using program::Role;

namespace {

std::size_t caches_of(const program::StepProgram& p) {
  std::size_t n = 0;
  while (n < p.buffers.size() && p.buffers[n].resident) ++n;
  return n;
}

}  // namespace

std::int64_t Decoder::memory_bytes(const GraphOf& graph_of, std::int64_t capacity) {
  return program::decode_bytes(graph_of(capacity), capacity);
}

Decoder::Decoder(GraphOf graph_of, std::int64_t vocab_size, std::int64_t capacity,
                 std::vector<Tensor> groups, std::byte* memory)
    : graph_of_(std::move(graph_of)),
      vocab_size_(vocab_size),
      capacity_(capacity),
      groups_(std::move(groups)),
      memory_(memory),
      logits_(static_cast<std::size_t>(vocab_size)) {
  const program::ModelGraph longest = graph_of_(capacity);
  if (groups_.size() != longest.groups.size())
    throw InternalError("Decoder: not one tensor for each group of parameters");
  const program::StepProgram p = program::decode_program(longest, capacity);
  const program::Placement placement = program::plan_memory(p);
  for (std::size_t b = 0; b < p.buffers.size() && p.buffers[b].resident; ++b) {
    caches_.push_back(placement.base[b]);
    const bool is_memory = longest.memory != program::none && b + 1 == caches_of(p);
    cache_bytes_.push_back(is_memory ? 0 : p.buffers[b].bytes() / capacity);
    if (is_memory) read_memory_ = memory_ + caches_.back();
  }
}

/// The tokens so far.
Tensor Decoder::cached(std::size_t cache) const {
  return make_tensor(memory_ + caches_[cache], DType::u8, {size_ * cache_bytes_[cache]},
                     groups_.front().place);
}

void Decoder::copy_text(const Decoder& other) {
  size_ = other.size_;
  std::vector<std::byte> between;
  for (std::size_t c = 0; size_ > 0 && c < caches_.size(); ++c) {
    const Tensor from = other.cached(c);
    between.resize(static_cast<std::size_t>(from.dims[0]));
    operations::copy_out(between.data(), from);
    operations::copy_in(cached(c), between.data());
  }
}

BlockContext Decoder::context_of(const program::Instruction& i) const {
  const program::BlockSpec& block = graph_.blocks[static_cast<std::size_t>(i.block)];
  std::vector<Tensor> operands(block.slots.size());
  std::vector<program::How> how(block.slots.size(), program::How::read);
  const Place place = groups_.front().place;
  for (const program::Use& u : i.uses) {
    const auto slot = static_cast<std::size_t>(u.slot), buffer = static_cast<std::size_t>(u.buffer);
    const program::Buffer& b = program_.buffers[buffer];
    std::vector<std::int64_t> dims = block.slots[slot].tensor.dims;
    if (const std::int64_t elements = block.slots[slot].tensor.elements(); b.elements != elements)
      dims.front() = b.elements / (elements / dims.front());
    const bool is_read = read_memory_ && buffer + 1 == caches_.size();
    operands[slot] = make_tensor(is_read ? read_memory_ : memory_ + placement_.base[buffer],
                                 b.dtype, dims, place);
    how[slot] = u.how;
  }
  for (std::size_t s = 0; s < block.slots.size(); ++s) {
    if (block.slots[s].role == Role::parameter)
      operands[s] = groups_[static_cast<std::size_t>(block.slots[s].index)];
    if (block.slots[s].role == Role::batch && block.slots[s].name == "targets")
      operands[s] = make_tensor(const_cast<std::int32_t*>(&last_row_), DType::i32, {1, 1});
  }
  return {graph_, block, std::move(operands), std::move(how), Mode::eval, 0, 1};
}

void Decoder::prepare(std::int64_t length) {
  if (prepared_ == length) return;
  contexts_.clear();
  graph_ = graph_of_(length);
  program_ = program::decode_program(graph_, capacity_);
  placement_ = program::plan_memory(program_, {.fixed = caches_});
  blocks_ = composed_blocks(graph_);
  for (const program::Instruction& i : program_.steady) contexts_.push_back(context_of(i));
  last_row_ = static_cast<std::int32_t>(length - 1);
  prepared_ = length;
}

std::size_t Decoder::first_block() const {
  return graph_.first_of_targets == program::none
             ? 0
             : static_cast<std::size_t>(graph_.first_of_targets);
}

void Decoder::write_batch(std::size_t block, std::string_view name, const std::int32_t* values) {
  const auto& slots = graph_.blocks[block].slots;
  const auto slot = std::ranges::find(slots, name, &program::SlotSpec::name);
  if (slot == slots.end()) throw InternalError("Decoder: a block reads no " + std::string(name));
  operations::copy_in(contexts_[block][static_cast<program::Slot>(slot - slots.begin())], values);
}

void Decoder::read(std::span<const std::int32_t> tokens) {
  require_ids(tokens);
  const at::NoGradGuard no_grad;
  if (read_memory_) use_memory(memory_ + caches_.back());
  prepare(1);
  const auto length = static_cast<std::int32_t>(tokens.size());
  const auto rows = static_cast<std::size_t>(graph_.batch.front().elements());
  if (first_block() == 0 || tokens.size() != rows)
    throw InternalError("Decoder: " + std::to_string(length) + " tokens to read");
  read_ = length;
  write_batch(0, "tokens", tokens.data());
  write_batch(1, "lengths", &read_);
  for (std::size_t b = 0; b < first_block(); ++b) blocks_[b]->forward(contexts_[b]);
}

void Decoder::read_with(const Decoder& other) {
  if (!read_memory_ || !other.read_memory_)
    throw InternalError("Decoder: a model that reads no other text");
  use_memory(other.read_memory_);
  read_ = other.read_;
}

void Decoder::use_memory(std::byte* memory) {
  if (std::exchange(read_memory_, memory) != memory) prepared_ = 0;
}

void Decoder::require_ids(std::span<const std::int32_t> tokens) const {
  if (const auto bad = std::ranges::find_if(
          tokens, [&](std::int32_t id) { return id < 0 || id >= vocab_size_; });
      bad != tokens.end())
    throw InternalError("Decoder: token id " + std::to_string(*bad) + " of a vocabulary of " +
                        std::to_string(vocab_size_));
}

/// `of`: [vocab_size].
void Decoder::copy_logits(const Tensor& of) {
  if (of.dtype == DType::f32) return operations::copy_out(logits_.data(), of);
  std::vector<std::uint16_t> low(logits_.size());
  operations::copy_out(low.data(), of);
  std::ranges::transform(low, logits_.begin(), of.dtype == DType::bf16 ? widen_bf16 : widen_f16);
}

std::span<const float> Decoder::append(std::span<const std::int32_t> tokens) {
  const auto length = static_cast<std::int64_t>(tokens.size());
  if (length < 1 || length > capacity_ - size_)
    throw InternalError("Decoder: " + std::to_string(length) + " tokens after " +
                        std::to_string(size_) + " of at most " + std::to_string(capacity_));
  require_ids(tokens);
  const at::NoGradGuard no_grad;
  prepare(length);
  write_batch(first_block(), first_block() == 0 ? "tokens" : "target_tokens", tokens.data());
  // what the last piece ended with may lie there
  if (first_block() > 0) write_batch(first_block() + 2, "lengths", &read_);
  for (std::size_t b = first_block(); b < blocks_.size(); ++b) {
    contexts_[b].set_past(size_);
    b + 1 < blocks_.size() ? blocks_[b]->forward(contexts_[b]) : blocks_[b]->predict(contexts_[b]);
  }
  copy_logits(contexts_.back()[graph_.composition->blocks.back()->last_logits].view({-1}).narrow(
      0, 0, vocab_size_));
  size_ += length;
  return logits_;
}

}  // namespace trainx::model
