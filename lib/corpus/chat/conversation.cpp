#include "corpus/chat/conversation.hpp"
#include "core/error.hpp"
#include "corpus/chat/learned_message.hpp"
#include <string>

namespace trainx::corpus {
namespace {

using nlohmann::ordered_json;

[[noreturn]] void refuse_conversation(const std::string& what) {
  throw UserError(ExitCode::bad_data, what);
}

bool given(const ordered_json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && !found->is_null();
}

/// A thought goes by three names; templates read one of the first two.
ordered_json with_reasoning(ordered_json message) {
  constexpr const char* names[] = {"reasoning_content", "thinking", "reasoning"};
  for (const char* name : names) {
    if (!message.contains(name)) continue;
    const ordered_json reasoning = message[name];
    ordered_json out{{"thinking", reasoning}};
    for (const auto& [key, value] : message.items()) out[key] = value;
    out["reasoning_content"] = reasoning;
    return out;
  }
  return message;
}

ordered_json message_of(const ordered_json& given, const std::string& place) {
  if (!given.is_object() || !given.contains("role") || !given["role"].is_string())
    refuse_conversation(place + " has no role: system, user or assistant");
  ordered_json out = ordered_json::object();
  for (const auto& [key, value] : given.items())
    if (!value.is_null()) out[key] = value;
  return with_reasoning(std::move(out));
}

void append_messages(const ordered_json& record, const char* field, ordered_json& out) {
  const auto found = record.find(field);
  if (found == record.end() || !found->is_array() || found->empty())
    refuse_conversation(std::string(field) + " is no list of {\"role\": ..., \"content\": ...}");
  for (std::size_t i = 0; i < found->size(); ++i)
    out.push_back(message_of((*found)[i], std::string(field) + "[" + std::to_string(i) + "]"));
}

/// Which messages are learned: answers, unless they say that they are not.
void find_learned(Conversation& c) {
  for (std::size_t i = 0; i < c.messages.size(); ++i) {
    const bool in_completion = c.completion && i >= *c.completion;
    const std::size_t number = in_completion ? i - *c.completion : i;
    const std::string place = (!c.completion   ? "messages["
                               : in_completion ? "completion["
                                               : "prompt[") +
                              std::to_string(number) + "]";
    const bool answer = c.messages[i]["role"] == "assistant";
    const std::optional<bool> said = says_learned(c.messages[i], place);
    c.learned.push_back(answer && said.value_or(true));
    if (c.completion ? said && *said != in_completion : said.value_or(false) && !answer)
      refuse_conversation(place + " says that it is " + (*said ? "" : "not ") + "learned, but " +
                          (c.completion ? "of a prompt and a completion the latter is, whole: give "
                                          "all turns as messages"
                                        : "only the assistant's turns can be: leave that out"));
  }
}

/// A list of objects, or JSON text of one.
ordered_json tools_of(const ordered_json& given) {
  ordered_json tools = given;
  if (given.is_string()) {
    tools = ordered_json::parse(given.get_ref<const std::string&>(), nullptr, false);
    if (tools.is_discarded())
      refuse_conversation("tools is a text that is no JSON: give a list of tools");
  }
  if (tools.is_null()) return tools;
  if (!tools.is_array()) refuse_conversation("tools is no list of tools");
  for (std::size_t i = 0; i < tools.size(); ++i)
    if (!tools[i].is_object()) refuse_conversation("tools[" + std::to_string(i) + "] is no object");
  return tools;
}

ordered_json variables_of(const ordered_json& given) {
  if (!given.is_object()) refuse_conversation("chat_template_kwargs is no object");
  for (const char* name : {"messages", "tools", "documents", "add_generation_prompt"})
    if (given.contains(name))
      refuse_conversation(std::string("chat_template_kwargs has ") + name +
                          ", which the conversation itself gives");
  return given;
}

}  // namespace

Conversation read_conversation(const ordered_json& record) {
  Conversation out;
  out.messages = ordered_json::array();
  if (record.contains("messages")) {
    append_messages(record, "messages", out.messages);
  } else {
    append_messages(record, "prompt", out.messages);
    out.completion = out.messages.size();
    append_messages(record, "completion", out.messages);
    if (out.messages[*out.completion]["role"] != "assistant")
      refuse_conversation("completion does not begin with a turn of the assistant");
  }
  bool answers = false;
  for (const ordered_json& message : out.messages) answers |= message["role"] == "assistant";
  if (!answers)
    refuse_conversation("messages has no turn of the assistant, so that nothing is learned");
  find_learned(out);
  if (given(record, "tools")) out.tools = tools_of(record["tools"]);
  if (given(record, "chat_template_kwargs"))
    out.variables = variables_of(record["chat_template_kwargs"]);
  return out;
}

}  // namespace trainx::corpus
