#include "corpus/chat/other_forms.hpp"
#include "yaml/problems.hpp"
#include <map>
#include <string>

namespace trainx::corpus {
namespace {

using data::labelled::LinePlace;
using nlohmann::ordered_json;

template <class Json>
bool given(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && !found->is_null();
}

ordered_json turn(const std::string& role, ordered_json content) {
  return {{"role", role}, {"content", std::move(content)}};
}

/// The text of a field; empty where there is none.
std::string text_in(const ordered_json& object, const char* key, const LinePlace& place) {
  if (!given(object, key)) return "";
  if (!object[key].is_string())
    place.refuse("has a field " + yaml::excerpt(key) + " that is not text");
  return object[key];
}

void begin_with_system(ordered_json& messages, const ordered_json& object, const LinePlace& place) {
  const std::string system = text_in(object, "system", place);
  if (!system.empty()) messages.push_back(turn("system", system));
}

std::string role_of(const std::string& from, const std::string& turn, const LinePlace& place) {
  static const std::map<std::string, std::string> roles{
      {"human", "user"},          {"user", "user"},         {"gpt", "assistant"},
      {"assistant", "assistant"}, {"chatgpt", "assistant"}, {"system", "system"},
      {"tool", "tool"},           {"observation", "tool"},  {"function_response", "tool"}};
  const auto found = roles.find(from);
  if (found == roles.end())
    place.refuse("has " + turn + " from " + yaml::excerpt(from) +
                 ", which is neither human, gpt, system nor tool: give the turns as \"messages\": "
                 "[{\"role\": ..., \"content\": ...}, ...]");
  return found->second;
}

}  // namespace

bool is_sharegpt(const ordered_json& turns) {
  return turns.is_array() && !turns.empty() && turns[0].is_object() && turns[0].contains("from") &&
         !given(turns[0], "role");
}

bool is_alpaca(const nlohmann::json& object) {
  return given(object, "instruction") && given(object, "output");
}

ordered_json sharegpt_messages(const ordered_json& object, const std::string& field,
                               const LinePlace& place) {
  const ordered_json& turns = object[field];
  if (!turns.is_array() || turns.empty())
    place.refuse("has " + yaml::excerpt(field) +
                 " that is no list of {\"from\": ..., \"value\": ...}");
  ordered_json messages = ordered_json::array();
  begin_with_system(messages, object, place);
  for (std::size_t i = 0; i < turns.size(); ++i) {
    const ordered_json& one = turns[i];
    const std::string name = field + "[" + std::to_string(i) + "]";
    if (one.is_object() && given(one, "role")) {
      messages.push_back(one);
      continue;
    }
    if (!one.is_object() || !given(one, "from") || !one["from"].is_string() || !given(one, "value"))
      place.refuse("has " + name + " without \"from\" and \"value\"");
    ordered_json message = turn(role_of(one["from"], name, place), one["value"]);
    for (const auto& [key, value] : one.items())
      if (key != "from" && key != "value") message[key] = value;
    messages.push_back(std::move(message));
  }
  return messages;
}

ordered_json alpaca_messages(const ordered_json& object, const LinePlace& place) {
  // A column of csv holds a list as text.
  const ordered_json history = given(object, "history") ? object["history"] : ordered_json();
  if (!history.empty() && history != "" && history != "[]")
    place.refuse(
        "has a history beside its instruction: give all turns as \"messages\": [{\"role\": ..., "
        "\"content\": ...}, ...]");
  ordered_json messages = ordered_json::array();
  begin_with_system(messages, object, place);
  const std::string input = text_in(object, "input", place);
  messages.push_back(
      turn("user", text_in(object, "instruction", place) + (input.empty() ? "" : "\n" + input)));
  messages.push_back(turn("assistant", text_in(object, "output", place)));
  return messages;
}

void check_whole_question(const nlohmann::json& object, const LinePlace& place) {
  if (given(object, "input") && object["input"] != "")
    place.refuse(
        "has an \"input\" beside its \"instruction\", which --prompt leaves out: leave out "
        "--prompt and --completion, and both are a turn of the user");
}

}  // namespace trainx::corpus
