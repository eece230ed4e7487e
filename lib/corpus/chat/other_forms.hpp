// Conversations in the forms of other tools.
#pragma once
#include "data/labelled/line.hpp"
#include <nlohmann/json.hpp>
#include <string>

namespace trainx::corpus {

/// ShareGPT's turns: [{"from": "human", "value": "..."}, ...].
bool is_sharegpt(const nlohmann::ordered_json& turns);
/// Alpaca's "instruction", "input" and "output", with "system" beside them.
bool is_alpaca(const nlohmann::json& object);

/// As messages, with the object's "system" first. Throws UserError 65 for a turn of nobody that is
/// known, or what a conversation cannot say.
nlohmann::ordered_json sharegpt_messages(const nlohmann::ordered_json& object,
                                         const std::string& field,
                                         const data::labelled::LinePlace& place);
nlohmann::ordered_json alpaca_messages(const nlohmann::ordered_json& object,
                                       const data::labelled::LinePlace& place);

/// Refuses Alpaca's "input" where the instruction alone is the prompt.
void check_whole_question(const nlohmann::json& object, const data::labelled::LinePlace& place);

}  // namespace trainx::corpus
