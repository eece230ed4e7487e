#include "tokenizer/files/generate_merges.hpp"
#include "tokenizer/unicode/utf8.hpp"
#include "tokenizer/vocabulary.hpp"
#include <algorithm>
#include <string_view>
#include <tuple>
#include <vector>

namespace trainx::tokenizer {
namespace {

struct Merge {
  std::int32_t id = 0;                            // of the token that it makes
  std::size_t left_length = 0, right_length = 0;  // code points
  std::int32_t left_id = 0, right_id = 0;
  std::string_view left, right;
};

}  // namespace

nlohmann::json generate_merges(const nlohmann::json& vocab) {
  std::unordered_map<std::string_view, std::int32_t> ids;
  ids.reserve(vocab.size());
  for (const auto& [token, id] : vocab.get_ref<const nlohmann::json::object_t&>())
    ids.emplace(token, id.get<std::int32_t>());
  std::vector<Merge> merges;
  for (const auto& [token, id] : ids) {
    const std::size_t length = count_code_points(token);
    std::size_t at = 0;
    for (std::size_t characters = 1; characters < length; ++characters) {
      next_code_point(token, at);
      const auto left = ids.find(token.substr(0, at)), right = ids.find(token.substr(at));
      if (left != ids.end() && right != ids.end())
        merges.push_back({id, characters, length - characters, left->second, right->second,
                          left->first, right->first});
    }
  }
  std::ranges::sort(merges, {}, [](const Merge& m) {
    return std::tuple(m.id, m.left_length, m.right_length, m.left_id, m.right_id);
  });
  nlohmann::json out = nlohmann::json::array();
  for (const Merge& m : merges) out.push_back({m.left, m.right});
  return out;
}

}  // namespace trainx::tokenizer
