#pragma once
#include "data/order.hpp"
#include "data/source.hpp"
#include "options/model/task.hpp"
#include <cstdint>
#include <optional>

namespace trainx::data {

/// A micro-batch of B samples padded to T tokens, row-major; targets of another text to as many as
/// that has, with target_tokens. Positions are those in the endless
/// stream of samples (the key of dropout). What a model has no use for is empty.
struct BatchView {
  std::span<std::int32_t> tokens, targets;            // [B, T]
  std::span<std::int64_t> positions;                  // [B]
  std::span<std::int32_t> token_types = {};           // [B, T]
  std::span<std::int32_t> lengths = {}, labels = {};  // [B]
  std::span<std::int32_t> document_starts = {};       // [B, T]
  std::span<float> label_values = {};                 // [B, numbers of a target]
  std::span<std::int32_t> target_tokens = {};         // as targets
  // of each of LoaderOptions::fields, of all samples
  std::vector<std::span<std::byte>> fields = {};
  /// Row `b` as one sample, made to padding.
  SampleView row(std::size_t b) const;
};

struct LoaderOptions {
  std::int64_t global_batch_size = 1, micro_batch_size = 1;
  // of a step's micro-batches this process asks for first_share, first_share + shares, ...: those
  // of a rank; or all of them
  std::int64_t first_share = 0, shares = 1;
  // T of a step: the smallest of these, ascending, that holds the longest sample of its global
  // batch
  std::vector<std::int64_t> row_lengths;
  // where targets are another text: tokens of theirs beside each of those
  std::vector<std::int64_t> target_lengths = {};
  // masked_lm: draws the targets of samples that come without
  std::optional<options::Masking> masking;
  std::int64_t label_values = 0;  // numbers of a sample's target, where it is some
  std::vector<FieldSpec> fields = {};
  std::optional<options::TargetShift> shift = {};  // seq2seq
  std::uint64_t seed = 0;                          // of masks
  std::int64_t workers = 1, prefetch = 4;          // threads; micro-batches prepared ahead at most
  std::int64_t first_step = 0;                     // where preparing begins
  std::int64_t last_step = -1;  // nothing is prepared from this step on; -1: no end
};

/// Step s, micro-batch m holds positions [s*G + m*B, s*G + (m+1)*B), whichever rank computes it.
/// Worker threads prepare the batches that come next, in order. State to save is the step alone:
/// order and contents follow from it.
class Loader {
 public:
  Loader(std::shared_ptr<const Source> source, Order order, LoaderOptions options);
  ~Loader();
  /// Copies the batch out; waits for it if need be (data wait, seconds, is added up). Any step may
  /// be asked for; in-order steps are ready ahead. Rethrows what a worker met (UserError of the
  /// source).
  void fetch(std::int64_t step, std::int64_t micro_batch, BatchView out);
  double take_wait_seconds();  // since the last call
  /// Which of row_lengths the batches of a step have, and its tokens before padding.
  std::size_t shape_of(std::int64_t step) const;
  std::int64_t tokens_of(std::int64_t step) const;
  /// Indices in the source of a step's samples, all ranks', in order.
  std::vector<std::int64_t> samples_of(std::int64_t step) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace trainx::data
