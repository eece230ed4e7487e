#pragma once
#include "operations/cross_entropy/cross_entropy.hpp"
#include "program/model_graph.hpp"
#include "tensor/random_key.hpp"
#include "tensor/tensor.hpp"
#include <cstdint>
#include <memory>
#include <vector>

namespace trainx::operations {

enum class Mode : std::uint8_t { train, eval };

/// What an instruction hands to its block: views of planned buffers by slot, the random key, the
/// mode. Made by the executor for one instruction.
class BlockContext {
 public:
  BlockContext(const program::ModelGraph& graph, const program::BlockSpec& block,
               std::vector<Tensor> operands, std::vector<program::How> how, Mode mode,
               std::uint64_t seed, double loss_seed);

  /// Does this instruction use the slot?
  bool has(program::Slot s) const {
    return static_cast<std::size_t>(s) < operands_.size() && operands_[s].defined();
  }
  /// Does it use the slot, and write it? A recomputation writes some of the slots that forward
  /// writes and reads others.
  bool writes(program::Slot s) const { return has(s) && program::writes(how_[s]); }
  /// The slot in its declared shape and dtype (parameter and gradient slots: the whole group,
  /// flat). InternalError if the instruction does not use it.
  const Tensor& operator[](program::Slot s) const;
  /// Does the instruction add to the slot instead of overwriting it?
  bool accumulates(program::Slot s) const { return how_[s] == program::How::accumulate; }
  /// Does it change a value gradient that another block has written?
  bool modifies(program::Slot s) const {
    return how_[s] == program::How::modify || how_[s] == program::How::accumulate;
  }
  /// Tensor `index` of the group behind a parameter or gradient slot, in the shape of its
  /// ParameterSpec.
  Tensor tensor(program::Slot group_slot, int index) const;
  const program::ParameterSpec& parameter(program::Slot group_slot, int index) const;
  /// `count` tensors from `first` on that follow one another without a gap, as one: their first
  /// dimensions added up.
  Tensor joined(program::Slot group_slot, int first, int count) const;
  bool training() const { return mode_ == Mode::train; }
  program::Role role(program::Slot s) const {
    return block_.slots[static_cast<std::size_t>(s)].role;
  }
  /// Slots that the instruction uses, of the role.
  std::vector<program::Slot> slots_of(program::Role role) const;
  /// Tokens of the sample before those at hand, whose keys and values are cached: of a decoder.
  std::int64_t past() const { return past_; }
  void set_past(std::int64_t tokens) { past_ = tokens; }
  /// What this rank computes, of ranks that share a batch.
  struct Place {
    int layer = 0;  // which part of each layer (parallel.tensor)
    int rows = 0;   // which of the equal parts of rows that differ in this block
    int heads = 0;  // which of the equal parts of heads, where they are cut by both
  };
  const Place& place() const { return place_; }
  void set_place(const Place& place) { place_ = place; }
  /// 1 / nominal target count of the global batch: what the loss gradient is multiplied with.
  double loss_seed() const { return loss_seed_; }
  /// That, times the loss scale in this slot, where the instruction uses it.
  LossSeed loss_seed(program::Slot loss_scale) const {
    return {loss_seed_, has(loss_scale) ? operands_[loss_scale].as<const double>() : nullptr};
  }
  /// By which its casts to fp8 are counted.
  std::int64_t cast_number() const {
    return block_.cast_number != program::none ? block_.cast_number
                                               : &block_ - graph_.blocks.data();
  }
  /// Key of a dropout site of this block; the sample's position and the element are the counter.
  tensor::RandomKey random_key(int site) const;

 private:
  const program::ModelGraph& graph_;
  const program::BlockSpec& block_;
  std::vector<Tensor> operands_;   // by slot; undefined where not used
  std::vector<program::How> how_;  // by slot
  Mode mode_;
  std::uint64_t seed_;
  double loss_seed_;
  std::int64_t past_ = 0;
  Place place_;
};

}  // namespace trainx::operations
