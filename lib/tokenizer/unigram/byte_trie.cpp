#include "tokenizer/unigram/byte_trie.hpp"
#include <algorithm>

namespace trainx::tokenizer {
namespace {

/// Sorted texts that have their first `depth` bytes in common, and the node of these.
struct Range {
  std::size_t begin = 0, end = 0, depth = 0;
  std::uint32_t node = 0;
};

}  // namespace

ByteTrie::ByteTrie(std::vector<std::pair<std::string, std::int32_t>> texts) {
  std::ranges::sort(texts);  // of chars as unsigned, as std::string has it
  std::vector<Range> waiting;
  // Appends a node for each byte that texts of the range go on with.
  const auto append_children = [&](const Range& parent) {
    const auto first = static_cast<std::uint32_t>(nodes_.size());
    for (std::size_t at = parent.begin; at < parent.end;) {
      const char byte = texts[at].first[parent.depth];
      const std::size_t begin = at;
      while (at < parent.end && texts[at].first[parent.depth] == byte) ++at;
      Node node;
      node.byte = byte;
      Range range{begin, at, parent.depth + 1, static_cast<std::uint32_t>(nodes_.size())};
      if (texts[begin].first.size() == range.depth) node.number = texts[range.begin++].second;
      nodes_.push_back(node);
      if (range.begin < range.end) waiting.push_back(range);
    }
    return std::pair(first, static_cast<std::uint32_t>(nodes_.size()));
  };
  roots_.fill(none);
  const auto [first_root, last_root] = append_children({0, texts.size(), 0, 0});
  for (std::uint32_t root = first_root; root < last_root; ++root)
    roots_[static_cast<unsigned char>(nodes_[root].byte)] = root;
  while (!waiting.empty()) {
    const Range range = waiting.back();
    waiting.pop_back();
    const auto [first, last] = append_children(range);
    nodes_[range.node].first = first;
    nodes_[range.node].children = static_cast<std::uint16_t>(last - first);
  }
}

}  // namespace trainx::tokenizer
