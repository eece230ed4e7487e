// Changes to JSON documents, for the mutators of what is written in it.
#pragma once
#include "fuzz/mutators/random.hpp"
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace trainx::fuzz {

using Json = nlohmann::ordered_json;
using Words = std::span<const std::string_view>;

/// Nothing where the text is no JSON, or too deep to be walked through.
std::optional<Json> parse_json(std::string_view text);
std::string text_of(const Json& document);
/// All values of a document, the document first; at most a few thousand.
std::vector<Json*> values_of(Json& document);
/// A few changes: values removed, repeated, exchanged, taken from `other` (which may be the same
/// document), replaced by edges of their type or by `words`; keys renamed.
void mutate_json(Json& document, Json& other, Words words, Random& random);
/// A text with characters changed, removed, repeated, or one of `words`.
std::string mutated_text(std::string text, Words words, Random& random);
/// A number at the edge of a type, or near what `was`.
Json mutated_number(const Json& was, Random& random);

}  // namespace trainx::fuzz
