#pragma once
#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

namespace trainx::corpus {

/// What a template gets, as transformers' apply_chat_template prepares it.
struct Conversation {
  nlohmann::ordered_json messages;  // without keys that are null
  nlohmann::ordered_json tools;     // null: there are none
  nlohmann::ordered_json variables = nlohmann::ordered_json::object();  // chat_template_kwargs
  // The first message of a completion, which alone is learned; none: each answer is.
  std::optional<std::size_t> completion;
  std::vector<bool> learned;  // by message: an answer that is learned; of no completion
};

/// {"messages": [...], "tools": [...] or the same as JSON text, "chat_template_kwargs": {...}}, or
/// with {"prompt": [...], "completion": [...]} instead of messages. Throws UserError 65.
Conversation read_conversation(const nlohmann::ordered_json& record);

}  // namespace trainx::corpus
