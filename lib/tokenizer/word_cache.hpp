#pragma once
#include "core/hash.hpp"
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace trainx::tokenizer {

/// Pieces that were met, and their tokens: text repeats its words. Grows to 2 MiB of slots, then
/// begins anew when it is full.
class WordCache {
 public:
  static constexpr std::size_t longest = 64;  // bytes of a piece that is kept

  WordCache() : slots_(std::size_t{1} << 6) {}

  /// Appends the tokens of `piece`, which `encode(piece, ids)` finds where they are not known.
  template <class Encode>
  void append(std::string_view piece, std::vector<std::int32_t>& ids, Encode&& encode) {
    if (piece.size() > longest) return encode(piece, ids);
    const std::uint64_t hash = hash_of(piece);
    std::size_t i = first_slot(hash);
    for (; slots_[i].used; i = next_slot(i)) {
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
    if (used_ == slots_.size() / 2) {
      make_room();
      for (i = first_slot(hash); slots_[i].used;) i = next_slot(i);
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
  static constexpr std::size_t most_slots = std::size_t{1} << 17;
  struct Slot {
    std::uint32_t hash = 0, text = 0, ids = 0;
    std::uint8_t bytes = 0, count = 0;
    bool used = false;
  };

  static std::uint64_t hash_of(std::string_view piece) {
    return hash64(std::as_bytes(std::span(piece)));
  }
  std::size_t first_slot(std::uint64_t hash) const {
    return static_cast<std::size_t>(hash) & (slots_.size() - 1);
  }
  std::size_t next_slot(std::size_t i) const { return (i + 1) & (slots_.size() - 1); }

  void make_room() {
    if (slots_.size() == most_slots) {
      slots_.assign(most_slots, Slot{});
      text_.clear();
      ids_.clear();
      used_ = 0;
      return;
    }
    const std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(slots_.size() * 4));
    for (const Slot& s : old) {
      if (!s.used) continue;
      std::size_t i = first_slot(hash_of({text_.data() + s.text, s.bytes}));
      while (slots_[i].used) i = next_slot(i);
      slots_[i] = s;
    }
  }

  std::vector<Slot> slots_;
  std::vector<char> text_;
  std::vector<std::int32_t> ids_;
  std::size_t used_ = 0;
};

}  // namespace trainx::tokenizer
