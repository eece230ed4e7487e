#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace trainx::tokenizer {

/// Pairs of tokens -> when they merge (rank, lowest first) and what they become. Open addressing: a
/// look-up is what byte-pair encoding spends its time on.
class MergeTable {
 public:
  struct Merge {
    std::uint32_t rank, id;
  };
  static constexpr std::uint32_t no_rank = 0xffffffff;

  explicit MergeTable(std::size_t merges)
      : slots_(std::bit_ceil(2 * merges + 2), Slot{empty, {no_rank, 0}}),
        shift_(64 - std::countr_zero(slots_.size())) {}

  /// The last one wins where a pair is added twice.
  void add(std::int32_t left, std::int32_t right, Merge merge) {
    Slot& slot = slots_[slot_of(key_of(left, right))];
    slot = {key_of(left, right), merge};
  }
  /// rank == no_rank: they do not merge.
  Merge find(std::int32_t left, std::int32_t right) const {
    return slots_[slot_of(key_of(left, right))].merge;
  }

 private:
  static constexpr std::uint64_t empty = ~std::uint64_t{0};
  struct Slot {
    std::uint64_t key;
    Merge merge;
  };

  static std::uint64_t key_of(std::int32_t left, std::int32_t right) {
    return std::uint64_t{static_cast<std::uint32_t>(left)} << 32 |
           static_cast<std::uint32_t>(right);
  }
  std::size_t slot_of(std::uint64_t key) const {
    std::size_t i = static_cast<std::size_t>(key * 0x9e3779b97f4a7c15u >> shift_);
    while (slots_[i].key != key && slots_[i].key != empty) i = (i + 1) & (slots_.size() - 1);
    return i;
  }

  std::vector<Slot> slots_;
  int shift_;
};

}  // namespace trainx::tokenizer
