#include "tokenizer/vocabulary.hpp"

namespace trainx::tokenizer {

bool VocabularyTable::add(std::string token, std::int32_t id) {
  const auto index = static_cast<std::size_t>(id);
  if (index < tokens_.size() && tokens_[index]) return false;
  const auto [place, is_new] = ids_.emplace(std::move(token), id);
  if (!is_new) return false;
  set_token(id, place->first);
  return true;
}

void VocabularyTable::add_again(std::string token, std::int32_t id) {
  set_token(id, ids_.insert_or_assign(std::move(token), id).first->first);
}

void VocabularyTable::set_token(std::int32_t id, const std::string& token) {
  const auto index = static_cast<std::size_t>(id);
  if (index >= tokens_.size()) tokens_.resize(index + 1, nullptr);
  tokens_[index] = &token;  // nodes of the map do not move
}

const std::string& VocabularyTable::token_of(std::int64_t id) const {
  static const std::string none;
  return id < 0 || id >= size() || !tokens_[static_cast<std::size_t>(id)]
             ? none
             : *tokens_[static_cast<std::size_t>(id)];
}

}  // namespace trainx::tokenizer
