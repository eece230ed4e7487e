#include "core/refusals.hpp"
#include <algorithm>

namespace trainx {
namespace {

constexpr std::size_t most_listed = 50;

}  // namespace

void Refusals::add(const UserError& refusal) {
  if (!code_) code_ = refusal.code();
  const std::string sentence = refusal.what();
  if (std::ranges::find(sentences_, sentence) != sentences_.end()) return;
  if (sentences_.size() < most_listed)
    sentences_.push_back(sentence);
  else
    ++more_;
}

void Refusals::throw_all() const {
  if (!code_) return;
  std::string all;
  for (const std::string& sentence : sentences_) all += (all.empty() ? "" : "\n") + sentence;
  if (more_ > 0) all += "\nand " + std::to_string(more_) + " problems more";
  throw UserError(*code_, all);
}

}  // namespace trainx
