#include "tokenizer/bpe/merge_word.hpp"
#include <algorithm>
#include <functional>
#include <queue>

namespace trainx::tokenizer {
namespace {

// up to which looking through all ranks is faster than a heap
constexpr std::size_t short_word = 32;

void merge_short(std::vector<std::int32_t>& symbols, const MergeTable& merges) {
  MergeTable::Merge next[short_word];  // of symbols i and i + 1
  std::size_t count = symbols.size();
  for (std::size_t i = 0; i + 1 < count; ++i) next[i] = merges.find(symbols[i], symbols[i + 1]);
  while (count > 1) {
    std::size_t best = 0;
    for (std::size_t i = 1; i + 1 < count; ++i)
      if (next[i].rank < next[best].rank) best = i;
    if (next[best].rank == MergeTable::no_rank) break;
    symbols[best] = static_cast<std::int32_t>(next[best].id);
    --count;
    for (std::size_t i = best + 1; i < count; ++i) {
      symbols[i] = symbols[i + 1];
      next[i] = next[i + 1];
    }
    if (best > 0) next[best - 1] = merges.find(symbols[best - 1], symbols[best]);
    if (best + 1 < count) next[best] = merges.find(symbols[best], symbols[best + 1]);
  }
  symbols.resize(count);
}

void merge_long(std::vector<std::int32_t>& symbols, const MergeTable& merges) {
  constexpr std::int32_t gone = -2;
  const auto count = static_cast<std::uint32_t>(symbols.size());
  std::vector<std::uint32_t> before(count), after(count);
  // Rank, then place: the smallest is the next to merge. Entries that a merge overtook are known by
  // their rank.
  std::vector<std::uint64_t> waiting;
  const auto offer = [&](std::uint32_t at, auto&& put) {
    const std::uint32_t rank = merges.find(symbols[at], symbols[after[at]]).rank;
    if (rank != MergeTable::no_rank) put(std::uint64_t{rank} << 32 | at);
  };
  for (std::uint32_t i = 0; i < count; ++i) {
    before[i] = i - 1;
    after[i] = i + 1;
    if (i + 1 < count) offer(i, [&](std::uint64_t entry) { waiting.push_back(entry); });
  }
  std::priority_queue<std::uint64_t, std::vector<std::uint64_t>, std::greater<>> queue(
      std::greater<>(), std::move(waiting));
  const auto push = [&](std::uint64_t entry) { queue.push(entry); };
  while (!queue.empty()) {
    const std::uint64_t top = queue.top();
    queue.pop();
    const auto left = static_cast<std::uint32_t>(top);
    if (symbols[left] == gone || after[left] >= count) continue;
    const std::uint32_t right = after[left];
    const MergeTable::Merge merge = merges.find(symbols[left], symbols[right]);
    if (merge.rank != top >> 32) continue;
    symbols[left] = static_cast<std::int32_t>(merge.id);
    symbols[right] = gone;
    after[left] = after[right];
    if (after[left] < count) {
      before[after[left]] = left;
      offer(left, push);
    }
    if (left > 0) offer(before[left], push);
  }
  std::erase(symbols, gone);
}

}  // namespace

void merge_word(std::vector<std::int32_t>& symbols, const MergeTable& merges) {
  if (symbols.size() < 2) return;
  if (symbols.size() <= short_word)
    merge_short(symbols, merges);
  else
    merge_long(symbols, merges);
}

}  // namespace trainx::tokenizer
