#pragma once
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace trainx::tokenizer {

/// A part of the text on its way to tokens.
struct Piece {
  std::string_view text;
  bool begins_text = false;  // nothing of the text was before it
};
using Pieces = std::vector<Piece>;

/// Texts that pieces point into, where they are not the caller's.
class Made {
 public:
  std::string_view keep(std::string text) { return kept_.emplace_back(std::move(text)); }
  void clear() { kept_.clear(); }

 private:
  std::deque<std::string> kept_;  // which moves none that is there
};

}  // namespace trainx::tokenizer
