#pragma once
#include <cstdint>

namespace trainx::data {

/// Which sample stands at a position of the endless stream of samples: epoch after epoch, each a keyed permutation (or the identity) of all samples,
/// evaluated in O(1), so that seeking is free and any world size sees the same samples in the same order.
class Order {
 public:
  Order(std::int64_t samples, std::uint64_t seed, bool shuffle);
  std::int64_t sample_at(std::int64_t position) const;
  std::int64_t epoch_at(std::int64_t position) const { return position / samples_; }
  std::int64_t samples() const { return samples_; }

 private:
  std::int64_t samples_;
  std::uint64_t seed_;
  bool shuffle_;
};

}  // namespace trainx::data
