#pragma once
#include "model/composed_block.hpp"
#include "program/memory.hpp"
#include <cstdint>
#include <functional>
#include <span>

namespace trainx::model {

/// A text token by token: what attention needs of the tokens so far, their keys and values, is
/// cached, so that one more costs one row of each product.
///
/// The blocks are training's own, over one sample whose rows are the tokens that are appended;
/// attention alone looks back. A layer's cache is the output of its first linear layer: new rows
/// are written where they stay, and a text's first piece is computed exactly as in training. The
/// memory is that of a planned program (program/decode.hpp).
///
/// Of an encoder-decoder it is the text that is written; the one that is read is given before it.
class Decoder {
 public:
  /// The blocks for one sample of that many tokens, in evaluation.
  using GraphOf = std::function<program::ModelGraph(std::int64_t length)>;

  /// Memory of a decoder for texts of up to `capacity` tokens.
  static std::int64_t memory_bytes(const GraphOf& graph_of, std::int64_t capacity);
  /// `groups`: the graph's parameters, each group flat [group.elements]. `memory`: memory_bytes,
  /// aligned to 256 bytes, whatever is in it. Both are where operations compute
  /// (operations/gpu_scope.hpp), and outlive the decoder.
  Decoder(GraphOf graph_of, std::int64_t vocab_size, std::int64_t capacity,
          std::vector<Tensor> groups, std::byte* memory);
  Decoder(const Decoder&) = delete;

  std::int64_t capacity() const { return capacity_; }
  /// Tokens so far: the next one's position.
  std::int64_t size() const { return size_; }
  /// Begins another text.
  void clear() { size_ = 0; }
  /// The text that is read, as long as the graph has it.
  void read(std::span<const std::int32_t> tokens);
  /// The text that the other has read, from the other's memory. Both have the same graph; the other
  /// outlives this one, or reads no other text before this one does.
  void read_with(const Decoder& other);
  /// Goes on from the other's text. Both have the same graph and capacity.
  void copy_text(const Decoder& other);
  /// Appends at least one token, at most capacity() - size(), computed together. Returns the logits
  /// f32 [vocab_size] of what follows the last of them, in the host's memory, until the next call.
  std::span<const float> append(std::span<const std::int32_t> tokens);

 private:
  void prepare(std::int64_t length);
  void use_memory(std::byte* memory);
  void require_ids(std::span<const std::int32_t> tokens) const;
  BlockContext context_of(const program::Instruction& i) const;
  void write_batch(std::size_t block, std::string_view name, const std::int32_t* values);
  std::size_t first_block() const;  // of the text that is written
  Tensor cached(std::size_t cache) const;
  void copy_logits(const Tensor& of);

  GraphOf graph_of_;
  std::int64_t vocab_size_, capacity_, size_ = 0;
  std::vector<Tensor> groups_;
  std::byte* memory_;
  std::byte* read_memory_ = nullptr;         // what blocks made of the text that is read
  std::vector<program::Bytes> caches_;       // their offsets
  std::vector<program::Bytes> cache_bytes_;  // of a token
  std::int32_t read_ = 0;                    // tokens of the text that is read
  std::int64_t prepared_ = 0;                // tokens of the pieces below; 0: none
  std::int32_t last_row_ = 0;                // which of the rows the head predicts from
  std::vector<float> logits_;
  // Of pieces of the length that was appended last.
  program::ModelGraph graph_;
  program::StepProgram program_;
  program::Placement placement_;
  Blocks blocks_;
  std::vector<BlockContext> contexts_;
};

}  // namespace trainx::model
