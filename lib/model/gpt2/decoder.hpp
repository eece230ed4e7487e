#pragma once
#include "model/block.hpp"
#include "spec/arch/gpt2.hpp"
#include <cstdint>
#include <map>
#include <span>

namespace trainx::model::gpt2 {

/// A text token by token: what attention needs of the tokens so far, their keys and values, is
/// kept, so that one more costs one row of each product.
///
/// The blocks are training's own, over one sample whose rows are the tokens that are appended;
/// attention alone looks back. A layer's cache is the output of its first linear layer, [capacity,
/// 3, H, D]: new rows are written where they stay, and a text's first piece is computed exactly as
/// in training.
class Decoder {
 public:
  /// Of the memory that a decoder works in, for texts of up to `capacity` tokens (1 to
  /// dims.max_positions).
  static std::int64_t memory_bytes(const spec::Gpt2Dims& dims, std::int64_t capacity);
  /// `groups`: the parameters as spec::gpt2_groups lays them out, f32, each group flat
  /// [group.elements]. `memory`: memory_bytes, aligned to 256 bytes, whatever is in it. Both are
  /// where operations compute (operations/gpu_scope.hpp), and outlive the decoder.
  Decoder(const spec::Gpt2Dims& dims, std::int64_t capacity, std::vector<Tensor> groups,
          std::byte* memory);
  Decoder(const Decoder&) = delete;

  std::int64_t capacity() const { return capacity_; }
  /// Tokens so far: the next one's position.
  std::int64_t size() const { return size_; }
  /// From here on another text.
  void clear() { size_ = 0; }
  /// Appends at least one token, at most capacity() - size(), computed together. Returns the logits
  /// f32 [vocab_size] of what follows the last of them, in the host's memory, until the next call.
  std::span<const float> append(std::span<const std::int32_t> tokens);

 private:
  /// Where an operand lies in the memory. Layers share all but their caches.
  using Places = std::map<std::string, std::int64_t>;
  /// Returns the bytes that they take.
  static std::int64_t place(const program::ModelGraph& graph, Places& places);
  void prepare(std::int64_t length);
  Tensor operand(const program::BlockSpec& block, const program::SlotSpec& slot);

  spec::Gpt2Dims dims_;
  std::int64_t capacity_, size_ = 0;
  std::vector<Tensor> groups_;
  std::byte* memory_;
  Places places_;
  std::int32_t last_row_ = 0;  // which of the rows the head predicts from
  std::vector<float> logits_;
  // Of pieces of the length that was appended last.
  program::ModelGraph graph_;
  Blocks blocks_;
  std::vector<BlockContext> contexts_;
};

}  // namespace trainx::model::gpt2
