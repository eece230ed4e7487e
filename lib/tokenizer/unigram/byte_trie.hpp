#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace trainx::tokenizer {

/// Texts with a number each, found by the bytes that a text begins with.
class ByteTrie {
 public:
  /// `texts`: distinct, none empty.
  explicit ByteTrie(std::vector<std::pair<std::string, std::int32_t>> texts);

  /// Calls `use(bytes, number)` for each of its texts that `text` begins with, the shortest first.
  template <class Use>
  void for_each_prefix(std::string_view text, Use&& use) const {
    if (text.empty()) return;
    std::uint32_t node = roots_[static_cast<unsigned char>(text[0])];
    for (std::size_t bytes = 1; node != none; ++bytes) {
      if (nodes_[node].number >= 0) use(bytes, nodes_[node].number);
      if (bytes == text.size()) return;
      node = child(nodes_[node], text[bytes]);
    }
  }

 private:
  static constexpr std::uint32_t none = 0xffffffff;
  struct Node {
    std::uint32_t first = 0;  // of its children, which follow one another by their bytes
    std::uint16_t children = 0;
    char byte = 0;
    std::int32_t number = -1;  // -1: no text ends here
  };
  std::uint32_t child(const Node& node, char byte) const {
    const auto wanted = static_cast<unsigned char>(byte);
    std::uint32_t low = node.first, high = node.first + node.children;
    while (low < high) {
      const std::uint32_t middle = low + (high - low) / 2;
      const auto found = static_cast<unsigned char>(nodes_[middle].byte);
      if (found == wanted) return middle;
      if (found < wanted)
        low = middle + 1;
      else
        high = middle;
    }
    return none;
  }

  std::vector<Node> nodes_;
  std::array<std::uint32_t, 256> roots_;
};

}  // namespace trainx::tokenizer
