#include "tokenizer/files/added_token_list.hpp"
#include "tokenizer/vocabulary.hpp"
#include <algorithm>

namespace trainx::tokenizer {

ModelVocabulary::ModelVocabulary(const nlohmann::json& model) {
  const auto vocab = model.find("vocab");
  if (vocab == model.end()) return;
  if (vocab->is_object()) {
    for (const auto& [token, id] : vocab->get_ref<const nlohmann::json::object_t&>()) {
      if (!id.is_number_unsigned() || id.get<std::uint64_t>() >= std::uint64_t{most_ids}) continue;
      ids_[token] = id.get<std::int32_t>();
      used_.resize(std::max(used_.size(), id.get<std::size_t>() + 1));
      used_[id.get<std::size_t>()] = true;
    }
    count_ = static_cast<std::int64_t>(vocab->size());
  } else if (vocab->is_array()) {
    for (const auto& item : *vocab) {
      if (item.is_array() && !item.empty() && item[0].is_string())
        ids_[item[0].get_ref<const std::string&>()] = static_cast<std::int32_t>(count_);
      ++count_;
    }
    used_.resize(static_cast<std::size_t>(count_), true);
  }
}

std::int32_t ModelVocabulary::id_of(std::string_view token) const {
  const auto found = ids_.find(token);
  return found == ids_.end() ? -1 : found->second;
}

void AddedTokenList::add(const TokenSpec& token) {
  if (token.content.empty() || has(token)) return;
  std::int32_t id = id_of(token.content);
  if (id < 0) {
    const auto size = static_cast<std::int32_t>(vocabulary_.count());
    id = std::max(size, highest_ + 1);
  }
  ids_[token.content] = id;
  tokens_[id] = token;
  if (token.special) special_.insert(token.content);
  if (token.is_normalized()) normalized_.insert(token.content);
  highest_ = std::max(highest_, id);
}

bool AddedTokenList::has(const TokenSpec& token) const {
  const auto found = ids_.find(token.content);
  return found != ids_.end() && tokens_.at(found->second) == token;
}

std::int32_t AddedTokenList::id_of(const std::string& content) const {
  const auto found = ids_.find(content);
  return found != ids_.end() ? found->second : vocabulary_.id_of(content);
}

std::vector<std::string> AddedTokenList::once_normalized() const {
  std::vector<std::string> out;
  for (const auto& [id, token] : tokens_)
    if (!token.is_normalized() && normalized_.contains(token.content)) out.push_back(token.content);
  return out;
}

nlohmann::json AddedTokenList::to_json() const {
  nlohmann::json out = nlohmann::json::array();
  for (const auto& [id, token] : tokens_)
    out.push_back({{"id", static_cast<std::uint32_t>(id)},
                   {"content", token.content},
                   {"single_word", token.single_word},
                   {"lstrip", token.lstrip},
                   {"rstrip", token.rstrip},
                   {"normalized", token.is_normalized()},
                   {"special", special_.contains(token.content)}});
  return out;
}

}  // namespace trainx::tokenizer
