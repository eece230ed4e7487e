#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace trainx::tokenizer {

struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const {
    return std::hash<std::string_view>{}(text);
  }
};
template <class Value>
using TextMap = std::unordered_map<std::string, Value, TextHash, std::equal_to<>>;

constexpr std::int32_t no_id = -1;
/// Ids are below: what a list by id may take of memory, whatever a file says.
constexpr std::int64_t most_ids = 1 << 24;

/// Tokens and their ids, which may have holes.
class VocabularyTable {
 public:
  /// False where the token or the id has been added before.
  bool add(std::string token, std::int32_t id);
  /// A token that may have been added before: its last id is what `id_of` says. The id is new.
  void add_again(std::string token, std::int32_t id);
  std::int32_t id_of(std::string_view token) const {
    const auto found = ids_.find(token);
    return found == ids_.end() ? no_id : found->second;
  }
  /// Empty where no token has the id.
  const std::string& token_of(std::int64_t id) const;
  bool has(std::int64_t id) const { return !token_of(id).empty(); }
  /// One more than the highest id.
  std::int64_t size() const { return static_cast<std::int64_t>(tokens_.size()); }
  std::int64_t count() const { return static_cast<std::int64_t>(ids_.size()); }

 private:
  void set_token(std::int32_t id, const std::string& token);

  TextMap<std::int32_t> ids_;
  std::vector<const std::string*> tokens_;
};

}  // namespace trainx::tokenizer
