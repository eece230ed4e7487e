// What lines of words with tags, and lists of numbers, must hold, in whatever notation they came.
#pragma once
#include "corpus/record.hpp"

namespace trainx::corpus {

bool is_list_of_numbers(const nlohmann::json& value);

/// A label as samples have it: numbers, or the name of a class. 1.0 is 1. Null: it is none of
/// these.
nlohmann::json label_value(const nlohmann::json& label);

/// A list of words, and a list of a class, its name, or -100, for each. Throws UserError 65.
TaggedWords tagged_words(const nlohmann::json& words, const nlohmann::json& tags,
                         const FieldNames& names, const data::labelled::LinePlace& place);
/// Where there are words and no tags.
[[noreturn]] void refuse_words_alone(const FieldNames& names,
                                     const data::labelled::LinePlace& place);

}  // namespace trainx::corpus
