#pragma once
#include "core/hash.hpp"
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace trainx::tokenizer {

/// Pieces that were met, and their tokens: text repeats its words. Begins anew when it is full.
class WordCache {
 public:
  static constexpr std::size_t longest = 64;  // bytes of a piece that is kept

  WordCache() : slots_(slot_count) {}

  /// Appends the tokens of `piece`, which `encode(piece, ids)` finds where they are not known.
  template <class Encode>
  void append(std::string_view piece, std::vector<std::int32_t>& ids, Encode&& encode) {
    if (piece.size() > longest) return encode(piece, ids);
    const std::uint64_t hash = hash64(std::as_bytes(std::span(piece)));
    std::size_t i = static_cast<std::size_t>(hash) & (slot_count - 1);
    for (; slots_[i].used; i = (i + 1) & (slot_count - 1)) {
      const Slot& s = slots_[i];
      if (s.hash != static_cast<std::uint32_t>(hash >> 32) ||
          std::string_view(text_.data() + s.text, s.bytes) != piece)
        continue;
      ids.insert(ids.end(), ids_.begin() + s.ids, ids_.begin() + s.ids + s.count);
      return;
    }
    const std::size_t before = ids.size();
    encode(piece, ids);
    if (ids.size() - before > longest) return;
    if (used_ == most_used) {
      slots_.assign(slot_count, Slot{});
      text_.clear();
      ids_.clear();
      used_ = 0;
      i = static_cast<std::size_t>(hash) & (slot_count - 1);
    }
    ++used_;
    slots_[i] = {
        static_cast<std::uint32_t>(hash >> 32),         static_cast<std::uint32_t>(text_.size()),
        static_cast<std::uint32_t>(ids_.size()),        static_cast<std::uint8_t>(piece.size()),
        static_cast<std::uint8_t>(ids.size() - before), true};
    text_.insert(text_.end(), piece.begin(), piece.end());
    ids_.insert(ids_.end(), ids.begin() + static_cast<std::ptrdiff_t>(before), ids.end());
  }

 private:
  static constexpr std::size_t slot_count = std::size_t{1} << 17, most_used = slot_count / 2;
  struct Slot {
    std::uint32_t hash = 0, text = 0, ids = 0;
    std::uint8_t bytes = 0, count = 0;
    bool used = false;
  };
  std::vector<Slot> slots_;
  std::vector<char> text_;
  std::vector<std::int32_t> ids_;
  std::size_t used_ = 0;
};

}  // namespace trainx::tokenizer
