#include "corpus/chat/chat_template.hpp"
#include "core/error.hpp"
#include <optional>
#include <regex>

namespace trainx::corpus {
namespace {

using nlohmann::ordered_json;

// Code points that no text holds (Unicode 23.7) stand in the rendered text where an answer begins
// and ends.
const std::string begin_mark = "\xEF\xB7\x90", end_mark = "\xEF\xB7\x91";

[[noreturn]] void refuse(const std::string& what) { throw UserError(ExitCode::bad_data, what); }

/// {% generation %} and {% endgeneration %} as blocks that write a mark. Nothing where there are
/// none.
std::optional<std::string> with_marks(const std::string& text) {
  static const std::regex tag(R"(\{%([-+]?)\s*(end)?generation\s*([-+]?)%\})");
  std::string out;
  auto done = text.begin();
  for (std::sregex_iterator at(text.begin(), text.end(), tag), none; at != none; ++at) {
    const std::smatch& match = *at;
    out.append(done, match[0].first);
    // An if-block trims the text around it as the tag does.
    out += "{%" + match[1].str() + " if true %}{{ '" + (match[2].matched ? end_mark : begin_mark) +
           "' }}{% endif " + match[3].str() + "%}";
    done = match[0].second;
  }
  if (done == text.begin()) return std::nullopt;
  return out.append(done, text.end());
}

const ordered_json& messages_of(const ordered_json& conversation) {
  const auto found = conversation.find("messages");
  if (found == conversation.end() || !found->is_array() || found->empty())
    refuse("messages is no list of {\"role\": ..., \"content\": ...}");
  bool answers = false;
  for (std::size_t i = 0; i < found->size(); ++i) {
    const ordered_json& message = (*found)[i];
    if (!message.is_object() || !message.contains("role") || !message["role"].is_string())
      refuse("messages[" + std::to_string(i) + "] has no role: system, user or assistant");
    answers |= message["role"] == "assistant";
  }
  if (!answers) refuse("messages has no turn of the assistant, so that nothing is learned");
  return *found;
}

std::string trimmed(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first == std::string::npos
             ? ""
             : text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

/// What a turn says, without the thought before it.
std::string answer_in(const std::string& content) {
  constexpr std::string_view end_of_thought = "</think>";
  const std::size_t thought = content.rfind(end_of_thought);
  return trimmed(thought == std::string::npos ? content
                                              : content.substr(thought + end_of_thought.size()));
}

/// Where a turn ends that the whole conversation writes otherwise than one that ends with it (a
/// thought is left out): behind its answer and what the shorter one has behind that.
std::optional<std::size_t> end_by_content(const ordered_json& message, const std::string& whole,
                                          std::size_t begin, const std::string& shorter) {
  const auto content = message.find("content");
  if (content == message.end() || !content->is_string()) return std::nullopt;
  const std::string text = answer_in(*content);
  const std::size_t there = shorter.rfind(text), here = whole.find(text, begin);
  if (text.empty() || there == std::string::npos || here == std::string::npos) return std::nullopt;
  const std::string behind = shorter.substr(there + text.size());
  if (whole.compare(here + text.size(), behind.size(), behind) != 0) return std::nullopt;
  return here + text.size() + behind.size();
}

}  // namespace

const Jinja& ChatTemplate::jinja() const {
  const std::lock_guard lock(reading_);
  if (!jinja_) {
    if (source_.text.empty())
      refuse(
          "has messages, and the tokenizer has no chat template: name one with "
          "--chat-template FILE, or give prompt and completion");
    const auto marked = with_marks(source_.text);
    has_marks_ = marked.has_value();
    jinja_ = std::make_unique<Jinja>(marked ? *marked : source_.text, source_.place);
  }
  return *jinja_;
}

std::string ChatTemplate::text_of(const ordered_json& conversation, std::size_t messages,
                                  bool ask) const {
  ordered_json variables = source_.variables;
  const ordered_json& all = conversation["messages"];
  variables["messages"] =
      ordered_json(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(messages));
  variables["tools"] = conversation.value("tools", ordered_json());
  variables["documents"] = nullptr;
  variables["add_generation_prompt"] = ask;
  return jinja().render(variables);
}

MaskedText ChatTemplate::render(const ordered_json& conversation) const {
  messages_of(conversation);
  jinja();
  MaskedText out = has_marks_ ? by_marks(conversation) : by_prefixes(conversation);
  bool learned = false;
  for (const TextSpan& span : out.learned) learned |= span.begin < span.end;
  if (!learned) refuse("messages has no answer in the text that the template makes of them");
  return out;
}

MaskedText ChatTemplate::by_marks(const ordered_json& conversation) const {
  const std::string given =
      conversation.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
  if (given.find(begin_mark) != std::string::npos || given.find(end_mark) != std::string::npos)
    refuse("has the code point U+FDD0 or U+FDD1, which no text holds");
  const std::string text = text_of(conversation, conversation["messages"].size(), false);
  MaskedText out;
  bool inside = false;
  for (std::size_t at = 0; at < text.size();) {
    const bool begins = text.compare(at, begin_mark.size(), begin_mark) == 0;
    if (!begins && text.compare(at, end_mark.size(), end_mark) != 0) {
      out.text.push_back(text[at++]);
      continue;
    }
    if (begins == inside) refuse(source_.place + " has generation blocks inside one another");
    inside = begins;
    if (begins)
      out.learned.push_back({out.text.size(), out.text.size()});
    else
      out.learned.back().end = out.text.size();
    at += begin_mark.size();
  }
  if (inside) refuse(source_.place + " does not end a generation block");
  return out;
}

MaskedText ChatTemplate::by_prefixes(const ordered_json& conversation) const {
  const ordered_json& messages = conversation["messages"];
  MaskedText out;
  out.text = text_of(conversation, messages.size(), false);
  for (std::size_t i = 0; i < messages.size(); ++i) {
    if (messages[i]["role"] != "assistant") continue;
    const std::string asked = text_of(conversation, i, true);
    const std::string shorter = i + 1 == messages.size() ? out.text
                                                         : text_of(conversation, i + 1, false);
    const std::size_t begin = asked.size();
    const std::size_t before = out.learned.empty() ? 0 : out.learned.back().end;
    std::optional<std::size_t> end;
    if (out.text.starts_with(asked) && begin >= before) {
      if (out.text.starts_with(shorter) && shorter.size() >= begin)
        end = shorter.size();
      else
        end = end_by_content(messages[i], out.text, begin, shorter);
    }
    if (!end)
      refuse(source_.place + " does not write messages[" + std::to_string(i) +
             "] behind the prompt that asks for it: put {% generation %} and {% endgeneration %} "
             "around the assistant's turns of a copy, and name it with --chat-template");
    out.learned.push_back({begin, *end});
  }
  return out;
}

}  // namespace trainx::corpus
