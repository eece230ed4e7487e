#include "corpus/chat/content_marks.hpp"
#include <algorithm>
#include <vector>

namespace trainx::corpus {
namespace {

using nlohmann::ordered_json;

// All marks begin with these two bytes; the third is 0x90 or 0x91, or of a digit 0xa0 and more.
constexpr std::string_view lead = "\xEF\xB7";

bool is_mark(const std::string& text, std::size_t at) {
  if (text.compare(at, lead.size(), lead) != 0 || at + 2 >= text.size()) return false;
  const auto third = static_cast<unsigned char>(text[at + 2]);
  return third >= 0x90 && third <= 0xaf;
}

std::string mark_of(std::size_t number) {
  std::string digits;
  do digits = std::string(lead) + static_cast<char>(0xa0 + number % 16) + digits;
  while ((number /= 16) > 0);
  return begin_mark + digits + end_mark;
}

/// Behind the last character that is no blank.
bool mark_text(ordered_json& value, std::size_t number) {
  if (!value.is_string()) return false;
  auto text = value.get<std::string>();
  const std::size_t last = text.find_last_not_of(" \t\r\n");
  if (last == std::string::npos) return false;
  text.insert(last + 1, mark_of(number));
  value = text;
  return true;
}

}  // namespace

bool has_marks(const std::string& text) {
  for (std::size_t at = text.find(lead); at != std::string::npos; at = text.find(lead, at + 1))
    if (is_mark(text, at)) return true;
  return false;
}

bool add_mark(ordered_json& message, std::size_t number) {
  if (message.contains("content")) {
    ordered_json& content = message["content"];
    if (mark_text(content, number)) return true;
    if (content.is_array())
      for (std::size_t i = content.size(); i-- > 0;)
        if (content[i].is_object() && content[i].contains("text") &&
            mark_text(content[i]["text"], number))
          return true;
  }
  if (message.contains("tool_calls") && message["tool_calls"].is_array() &&
      !message["tool_calls"].empty()) {
    ordered_json& call = message["tool_calls"].back();
    if (call.is_object() && call.contains("function") && call["function"].is_object())
      return mark_text(call["function"]["name"], number);
    if (call.is_object() && call.contains("name")) return mark_text(call["name"], number);
  }
  bool marked = false;
  for (const char* name : {"thinking", "reasoning_content"})
    if (message.contains(name)) marked |= mark_text(message[name], number);
  return marked;
}

Unmarked without_marks(const std::string& text) {
  Unmarked out;
  std::map<std::size_t, std::vector<std::size_t>> all;
  std::size_t number = 0;
  for (std::size_t at = 0; at < text.size();) {
    if (!is_mark(text, at)) {
      out.text.push_back(text[at++]);
      continue;
    }
    const auto third = static_cast<unsigned char>(text[at + 2]);
    if (third == 0x90) number = 0;
    if (third >= 0xa0) number = number * 16 + (third - 0xa0);
    if (third == 0x91) all[number].push_back(out.text.size());
    at += 3;
  }
  std::size_t before = 0;
  for (const auto& [message, places] : all) {
    const auto next = std::ranges::lower_bound(places, before);
    out.places[message] = next == places.end() ? places.front() : *next;
    if (next != places.end()) before = *next;
  }
  return out;
}

}  // namespace trainx::corpus
