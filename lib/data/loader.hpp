#pragma once
#include "data/order.hpp"
#include "data/source.hpp"

namespace trainx::data {

/// Row-major [micro_batch_size, sequence_length] and [micro_batch_size]; positions are those in the endless stream of samples (the key of dropout).
struct BatchView { std::span<std::int32_t> tokens, targets; std::span<std::int64_t> positions; };

struct LoaderOptions {
  std::int64_t global_batch_size = 1, micro_batch_size = 1, sequence_length = 1;
  std::int64_t workers = 1, prefetch = 4;   // threads; micro-batches prepared ahead at most
  std::int64_t first_step = 0;          // where preparing begins
  std::int64_t last_step = -1;          // nothing is prepared from this step on; -1: no end
};

/// Step s, micro-step m holds positions [s*G + m*B, s*G + (m+1)*B). Worker threads prepare the batches that come next, in order.
/// State to save is the step alone: order and contents follow from it.
class Loader {
 public:
  Loader(std::shared_ptr<const Source> source, Order order, LoaderOptions options);
  ~Loader();
  /// Copies the batch out; waits for it if need be (data wait, seconds, is added up). Any step may be asked for; in-order steps are ready ahead.
  /// Rethrows what a worker met (UserError of the source).
  void fetch(std::int64_t step, int micro_step, BatchView out);
  double take_wait_seconds();           // since the last call

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace trainx::data
