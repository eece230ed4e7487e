#include "tokenizer/train/learn_merges.hpp"
#include "support/catch.hpp"
#include "tokenizer/train/learn_tokenizer.hpp"
#include "unit/data/expect_user_error.hpp"
#include <random>

namespace trainx::tokenizer::learn_merges_test {
namespace {

/// The algorithm as it is written down: counts everything anew for each merge.
Learned learn_plainly(const WordCounts& words, std::int64_t vocab_size) {
  Learned out;
  std::map<std::string, std::size_t> ids;
  for (const auto& [word, count] : words)
    for (const char c : word) ids.emplace(std::string(1, c), 0);
  for (auto& [token, id] : ids) {
    id = out.tokens.size();
    out.tokens.push_back(token);
  }
  std::vector<std::pair<std::vector<std::size_t>, std::int64_t>> all;
  for (const auto& [word, count] : words) {
    all.emplace_back(std::vector<std::size_t>{}, count);
    for (const char c : word) all.back().first.push_back(ids[std::string(1, c)]);
  }
  while (static_cast<std::int64_t>(out.tokens.size()) < vocab_size) {
    std::map<std::pair<std::size_t, std::size_t>, std::int64_t> counts;
    for (const auto& [s, count] : all)
      for (std::size_t i = 0; i + 1 < s.size(); ++i) counts[{s[i], s[i + 1]}] += count;
    auto best = counts.end();
    for (auto at = counts.begin(); at != counts.end(); ++at)
      if (best == counts.end() || at->second > best->second) best = at;
    if (best == counts.end()) break;
    const auto [left, right] = best->first;
    out.merges.emplace_back(out.tokens[left], out.tokens[right]);
    const auto [place, is_new] =
        ids.emplace(out.tokens[left] + out.tokens[right], out.tokens.size());
    if (is_new) out.tokens.push_back(place->first);
    for (auto& [s, count] : all)
      for (std::size_t i = 0; i + 1 < s.size(); ++i)
        if (s[i] == left && s[i + 1] == right) {
          s[i] = place->second;
          s.erase(s.begin() + static_cast<std::ptrdiff_t>(i) + 1);
        }
  }
  return out;
}

}  // namespace

TEST_CASE("merges are learned as the algorithm says, ties by the lower ids") {
  const auto seed = std::random_device{}();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 60; ++round) {
    WordCounts words;
    for (int i = 0; i < 30; ++i) {
      std::string word;
      for (unsigned k = 0; k < 1 + random() % 9; ++k) word.push_back("aabcd"[random() % 5]);
      words[word] = 1 + static_cast<std::int64_t>(random() % 20);
    }
    LearnOptions o;
    o.vocab_size = 40;
    const Learned got = learn_merges(words, o), want = learn_plainly(words, 40);
    REQUIRE(got.tokens == want.tokens);
    REQUIRE(got.merges == want.merges);
  }
}

TEST_CASE("a learned tokenizer is a file that reads back") {
  const WordCounts words{{"hello", 9}, {"help", 5}, {" world", 3}};
  data::expect_user_error(ExitCode::usage, {"257"},
                          [&] { learn_tokenizer(LearnedKind::bpe, words, 256); });
  data::expect_user_error(ExitCode::bad_data, {"no words"},
                          [&] { learn_tokenizer(LearnedKind::bpe, {}, 300); });
  CHECK(learn_tokenizer(LearnedKind::bpe, words, 260) ==
        learn_tokenizer(LearnedKind::bpe, words, 260));
  const auto json = nlohmann::json::parse(learn_tokenizer(LearnedKind::wordpiece, words, 64));
  CHECK(json["model"]["vocab"]["[MASK]"] == 4);
  CHECK(json["model"]["vocab"].contains("##l"));
  CHECK(json["model"]["vocab"].contains("hello"));
}

}  // namespace trainx::tokenizer::learn_merges_test
