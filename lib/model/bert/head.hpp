#pragma once
#include <algorithm>
#include <cstdint>
#include "model/bert/shape.hpp"
#include "model/block.hpp"
#include "operations/cross_entropy/cross_entropy.hpp"
#include "spec/arch/bert_slots.hpp"

namespace trainx::model::bert {

/// Tensors of a head's group that belong to the last sum and its norm.
struct HeadPlaces {
  int norm_weight, norm_bias, pending_bias;
};

/// What BERT's heads have in common: hidden states of the rows that they look at, and the way of
/// gradients back to them. Slots: spec::bert::HeadSlot.
class Head : public Block {
 protected:
  Head(const Shape& shape, const HeadPlaces& places) : shape_(shape), at_(places) {}
  /// Entries [first, first + count) of `rows`.
  struct Chunk {
    std::int64_t first, count;
  };
  /// Calls f(chunk) for the first `count` entries of `rows`, as many at a time as scratch holds.
  template <class F>
  static void for_chunks(const BlockContext& c, std::int64_t count, F f) {
    const std::int64_t most = c[spec::bert::HeadSlot::residual].size(0);
    for (std::int64_t first = 0; first < count; first += most)
      f(Chunk{first, std::min(most, count - first)});
  }
  /// The rows of a chunk's scratch.
  static Tensor part(const BlockContext& c, program::Slot s, Chunk chunk) {
    return c[s].narrow(0, 0, chunk.count);
  }
  static std::int64_t* rows(const BlockContext& c);

  /// Hidden states into `normed`.
  void gather(const BlockContext& c, Chunk chunk) const;
  /// Logits, on a CPU in f32, of weight[columns, C] and bias, for input[count, C].
  Tensor logits(const BlockContext& c, Chunk chunk, const Tensor& input, const Tensor& weight,
                const Tensor& bias) const;
  /// Gradients of such logits: the input's into d_input, weight's and bias's.
  void backward_logits(const BlockContext& c, Chunk chunk, const Tensor& d_logits,
                       const Tensor& d_input, const Tensor& input, const Tensor& weight,
                       const Tensor& d_weight, bool add_weight, const Tensor& d_bias,
                       bool add_bias) const;
  /// From the hidden states' gradient in d_normed: that of the norm's parameters, and of the rows
  /// of residual_in.
  void scatter(const BlockContext& c, Chunk chunk) const;
  /// Before the first chunk, and after the last.
  void begin_gradients(const BlockContext& c) const;
  void finish_gradients(const BlockContext& c) const;
  static operations::LossTo loss_to(const BlockContext& c, Chunk chunk);

  Shape shape_;
  HeadPlaces at_;
};

}  // namespace trainx::model::bert
