#include "tokenizer/train/learn_merges.hpp"
#include "tokenizer/unicode/utf8.hpp"
#include <algorithm>
#include <queue>
#include <set>

namespace trainx::tokenizer {
namespace {

using Pair = std::uint64_t;  // left id << 32 | right id
Pair pair_of(std::int32_t left, std::int32_t right) {
  return Pair{static_cast<std::uint32_t>(left)} << 32 | static_cast<std::uint32_t>(right);
}

struct Word {
  std::vector<std::int32_t> symbols;
  std::int64_t count = 0;
};

struct Candidate {
  std::int64_t count;
  Pair pair;
  bool operator<(const Candidate& other) const {
    return count != other.count ? count < other.count : pair > other.pair;
  }
};

class Learner {
 public:
  Learner(const WordCounts& words, const LearnOptions& o) : o_(o) {
    for (const std::string& token : o.special) add(token);
    for (const std::string& character : alphabet(words)) add(character);
    for (const auto& [text, count] : words) {
      Word word{symbols_of(text), count};
      for (std::size_t i = 0; i + 1 < word.symbols.size(); ++i) {
        const Pair pair = pair_of(word.symbols[i], word.symbols[i + 1]);
        counts_[pair] += count;
        note(pair);
      }
      words_.push_back(std::move(word));
    }
  }

  Learned learn() {
    for (const auto& [pair, count] : counts_) queue_.push({count, pair});
    while (static_cast<std::int64_t>(out_.tokens.size()) < o_.vocab_size && !queue_.empty()) {
      const Candidate top = queue_.top();
      queue_.pop();
      const std::int64_t count = counts_[top.pair];
      if (count < 1) continue;
      // it became rarer since it was put there
      if (count != top.count)
        queue_.push({count, top.pair});
      else
        merge(top.pair);
    }
    return std::move(out_);
  }

 private:
  std::int32_t add(const std::string& token) {
    const auto [place, is_new] = ids_.emplace(token, static_cast<std::int32_t>(out_.tokens.size()));
    if (is_new) out_.tokens.push_back(token);
    return place->second;
  }

  static std::vector<std::string_view> characters_of(std::string_view word) {
    std::vector<std::string_view> out;
    for (std::size_t at = 0; at < word.size();) {
      const std::size_t length = utf8_length(static_cast<unsigned char>(word[at]));
      out.push_back(word.substr(at, length));
      at += length;
    }
    return out;
  }

  /// UTF-8's order is that of code points.
  std::set<std::string> alphabet(const WordCounts& words) const {
    std::map<std::string, std::int64_t, std::less<>> seen;
    for (const auto& [word, count] : words)
      for (const std::string_view c : characters_of(word)) {
        const auto found = seen.find(c);
        if (found == seen.end())
          seen.emplace(c, count);
        else
          found->second += count;
      }
    std::vector<std::pair<std::int64_t, std::string>> commonest;
    for (auto& [c, count] : seen) commonest.emplace_back(-count, c);
    std::ranges::sort(commonest);
    if (o_.most_characters > 0 && static_cast<std::int64_t>(commonest.size()) > o_.most_characters)
      commonest.resize(static_cast<std::size_t>(o_.most_characters));
    std::set<std::string> out(o_.alphabet.begin(), o_.alphabet.end());
    for (auto& [count, c] : commonest) out.insert(std::move(c));
    return out;
  }

  /// Characters that are not in the alphabet are left out.
  std::vector<std::int32_t> symbols_of(std::string_view word) {
    std::vector<std::int32_t> out;
    for (const std::string_view c : characters_of(word)) {
      const auto found = ids_.find(c);
      if (found == ids_.end()) continue;
      const bool inside = c.data() != word.data() && !o_.continuing_subword_prefix.empty();
      out.push_back(inside ? add(o_.continuing_subword_prefix + std::string(c)) : found->second);
    }
    return out;
  }

  /// The word that is built next has the pair.
  void note(Pair pair) {
    auto& in = where_[pair];
    if (in.empty() || in.back() != words_.size())
      in.push_back(static_cast<std::uint32_t>(words_.size()));
  }

  void merge(Pair pair) {
    const auto left = static_cast<std::int32_t>(pair >> 32),
               right = static_cast<std::int32_t>(pair);
    const std::string &a = out_.tokens[static_cast<std::size_t>(left)],
                      &b = out_.tokens[static_cast<std::size_t>(right)];
    const std::string& prefix = o_.continuing_subword_prefix;
    const std::string together = a + (b.starts_with(prefix) ? b.substr(prefix.size()) : b);
    out_.merges.emplace_back(a, b);
    const std::int32_t made = add(together);
    std::set<Pair> commoner;
    for (const std::uint32_t index : std::exchange(where_[pair], {}))
      merge_in(words_[index], index, left, right, made, commoner);
    counts_.erase(pair);
    for (const Pair p : commoner)
      if (const auto found = counts_.find(p); found != counts_.end() && found->second > 0)
        queue_.push({found->second, p});
  }

  void merge_in(Word& word, std::uint32_t index, std::int32_t left, std::int32_t right,
                std::int32_t made, std::set<Pair>& commoner) {
    auto& s = word.symbols;
    const auto change = [&](std::int32_t l, std::int32_t r, std::int64_t by) {
      const Pair p = pair_of(l, r);
      counts_[p] += by;
      if (by < 0) return;
      auto& in = where_[p];
      if (in.empty() || in.back() != index) in.push_back(index);
      commoner.insert(p);
    };
    std::size_t kept = 0;
    for (std::size_t i = 0; i < s.size(); ++i) {
      if (i + 1 >= s.size() || s[i] != left || s[i + 1] != right) {
        s[kept++] = s[i];
        continue;
      }
      if (kept > 0) {
        change(s[kept - 1], left, -word.count);
        change(s[kept - 1], made, word.count);
      }
      if (i + 2 < s.size()) {
        change(right, s[i + 2], -word.count);
        change(made, s[i + 2], word.count);
      }
      s[kept++] = made;
      ++i;
    }
    s.resize(kept);
  }

  const LearnOptions& o_;
  Learned out_;
  TextMap<std::int32_t> ids_;
  std::vector<Word> words_;
  std::unordered_map<Pair, std::int64_t> counts_;
  std::unordered_map<Pair, std::vector<std::uint32_t>> where_;  // words that had the pair
  std::priority_queue<Candidate> queue_;
};

}  // namespace

Learned learn_merges(const WordCounts& words, const LearnOptions& options) {
  return Learner(words, options).learn();
}

}  // namespace trainx::tokenizer
