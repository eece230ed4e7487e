#pragma once
#include "tokenizer/tokenizer.hpp"
#include <algorithm>

namespace trainx::corpus {

/// What a tokenizer puts before and behind a text.
struct Around {
  tokenizer::Ids before, behind;
  Around(const tokenizer::Tokenizer& tokenizer, bool special) {
    constexpr std::int32_t marker = -2;
    const tokenizer::Ids all = tokenizer.sample({marker}, std::nullopt, special).ids;
    const auto at = std::ranges::find(all, marker);
    before.assign(all.begin(), at);
    if (at != all.end()) behind.assign(at + 1, all.end());
  }
};

}  // namespace trainx::corpus
