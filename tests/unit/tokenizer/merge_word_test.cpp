#include "tokenizer/bpe/merge_word.hpp"
#include "support/catch.hpp"
#include <map>
#include <random>

namespace trainx::tokenizer::merge_word_test {
namespace {

using Rules = std::map<std::pair<std::int32_t, std::int32_t>, MergeTable::Merge>;

/// The definition, one merge at a time.
std::vector<std::int32_t> merge_plainly(std::vector<std::int32_t> s, const Rules& rules) {
  for (;;) {
    std::size_t best = s.size();
    MergeTable::Merge merge{MergeTable::no_rank, 0};
    for (std::size_t i = 0; i + 1 < s.size(); ++i) {
      const auto found = rules.find({s[i], s[i + 1]});
      if (found != rules.end() && found->second.rank < merge.rank) {
        best = i;
        merge = found->second;
      }
    }
    if (best == s.size()) return s;
    s[best] = static_cast<std::int32_t>(merge.id);
    s.erase(s.begin() + static_cast<std::ptrdiff_t>(best) + 1);
  }
}

}  // namespace

TEST_CASE("words of every length merge lowest rank first, leftmost first") {
  const auto seed = std::random_device{}();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 200; ++round) {
    // Ids are new ones as in a vocabulary; several pairs may make the same one.
    Rules rules;
    const int letters = 1 + static_cast<int>(random() % 4);
    std::int32_t next = letters;
    for (std::uint32_t rank = 0; rank < 40; ++rank) {
      const auto left = static_cast<std::int32_t>(random() % static_cast<unsigned>(next)),
                 right = static_cast<std::int32_t>(random() % static_cast<unsigned>(next));
      if (rules
              .try_emplace({left, right}, MergeTable::Merge{rank, static_cast<std::uint32_t>(next)})
              .second)
        ++next;
    }
    MergeTable table(rules.size());
    for (const auto& [pair, merge] : rules) table.add(pair.first, pair.second, merge);
    for (const std::size_t length : {0, 1, 2, 3, 31, 32, 33, 34, 100, 257}) {
      std::vector<std::int32_t> symbols(length);
      for (auto& s : symbols)
        s = static_cast<std::int32_t>(random() % static_cast<unsigned>(letters));
      auto merged = symbols;
      merge_word(merged, table);
      INFO("length " << length << ", round " << round);
      REQUIRE(merged == merge_plainly(symbols, rules));
    }
  }
}

TEST_CASE("a word of a million symbols merges in less than its square") {
  MergeTable table(20);
  for (std::uint32_t rank = 0; rank < 20; ++rank)
    table.add(static_cast<std::int32_t>(rank), static_cast<std::int32_t>(rank), {rank, rank + 1});
  std::vector<std::int32_t> symbols(1 << 20, 0);
  merge_word(symbols, table);
  CHECK(symbols == std::vector<std::int32_t>{20});
}

}  // namespace trainx::tokenizer::merge_word_test
