#pragma once
#include <cstdint>
#include <functional>
#include <memory>

namespace trainx::data {

class Source;

/// Which sample stands at a position of the endless stream of samples, epoch after epoch, so that
/// seeking is free and any world size sees the same samples in the same order. Thread-safe.
class Order {
 public:
  using Rule = std::function<std::int64_t(std::int64_t position)>;
  /// Each epoch a keyed permutation (or the identity) of all samples, evaluated in O(1).
  Order(std::int64_t samples, std::uint64_t seed, bool shuffle);
  /// Another rule for epochs of `samples`, thread-safe.
  Order(std::int64_t samples, Rule rule);
  std::int64_t sample_at(std::int64_t position) const;
  std::int64_t epoch_at(std::int64_t position) const { return position / samples_; }
  std::int64_t samples() const { return samples_; }

 private:
  std::int64_t samples_;
  Rule rule_;
};

struct OrderOptions {
  std::uint64_t seed = 0;
  bool shuffle = true;
  bool group_by_length = false;
  std::int64_t global_batch_size = 1;  // what group_by_length makes even in length
};
/// The order in which training goes through a source: by weight where it is a mixture.
Order make_order(std::shared_ptr<const Source> source, const OrderOptions& options);

}  // namespace trainx::data
