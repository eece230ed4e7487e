#include "corpus/chat/chat_template.hpp"
#include "core/error.hpp"
#include "corpus/chat/answer_spans.hpp"
#include "corpus/chat/content_marks.hpp"
#include "jinja/from_json.hpp"

namespace trainx::corpus {
namespace {

using nlohmann::ordered_json;

[[noreturn]] void refuse(const std::string& what) { throw UserError(ExitCode::bad_data, what); }

const std::string own_template =
    "put {% generation %} and {% endgeneration %} around the assistant's turns of a copy, and name "
    "it with --chat-template";

[[noreturn]] void refuse(const std::string& place, const jinja::TemplateError& problem) {
  switch (problem.problem()) {
    case jinja::Problem::syntax:
      refuse(place + " cannot be read as a Jinja template: " + problem.what());
    case jinja::Problem::unsupported:
      refuse(place + ": " + problem.what() +
             ": write it otherwise in a copy, and name that with --chat-template");
    case jinja::Problem::python_text:
      refuse(place + ": " + problem.what() + ": give it as a text, or leave it out");
    case jinja::Problem::limit: refuse(place + ": " + problem.what());
    default: refuse(place + " refuses it: " + problem.what());
  }
}

}  // namespace

ChatTemplate::ChatTemplate(TemplateSource source)
    : source_(std::move(source)), now_(std::time(nullptr)) {}

const ChatTemplate::Read& ChatTemplate::template_for(const Conversation& conversation) const {
  const auto& all = source_.templates;
  if (all.empty())
    refuse(
        "has messages, and the tokenizer has no chat template: name one with "
        "--chat-template FILE, or give prompt and completion");
  const bool uses_tools = !conversation.tools.is_null() && all.contains("tool_use");
  const std::string name = uses_tools ? "tool_use" : "default";
  if (!all.contains(name)) {
    std::string names;
    for (const auto& [one, text] : all) names += (names.empty() ? "" : ", ") + one;
    refuse("has messages, and of the tokenizer's chat templates (" + names +
           ") none is called default: name one with --chat-template");
  }
  const std::lock_guard lock(reading_);
  Read& read = read_[name];
  if (read.jinja) return read;
  const NamedTemplate& source = all.at(name);
  read.place = source.place;
  constexpr std::size_t largest = std::size_t{256} << 10;  // the largest known are a tenth of it
  if (source.text.size() > largest)
    refuse(source.place + " has more than 256 KiB: no chat template does");
  if (has_marks(source.text))
    refuse(source.place + " has a code point of U+FDD0 to U+FDEF, which no text holds");
  try {
    read.jinja = std::make_unique<jinja::Template>(source.text);
  } catch (const jinja::TemplateError& problem) { refuse(source.place, problem); }
  return read;
}

std::string ChatTemplate::text_of(const Read& read, const Conversation& conversation,
                                  const ordered_json& messages, bool ask,
                                  const jinja::Marks& marks) const {
  try {
    jinja::Dict variables;
    for (const auto& [name, value] : source_.variables.items())
      variables.set(name, jinja::from_json(value));
    for (const auto& [name, value] : conversation.variables.items())
      variables.set(name, jinja::from_json(value));
    variables.set("messages", jinja::from_json(messages, "messages"));
    variables.set("tools", jinja::from_json(conversation.tools));
    variables.set("documents", jinja::Value::none());
    variables.set("add_generation_prompt", jinja::Value::boolean(ask));
    return read.jinja->render(variables, marks, now_);
  } catch (const jinja::TemplateError& problem) { refuse(read.place, problem); }
}

MaskedText ChatTemplate::render(const ordered_json& record) const {
  const Conversation conversation = read_conversation(record);
  if (has_marks(record.dump(-1, ' ', false, ordered_json::error_handler_t::replace)))
    refuse("has a code point of U+FDD0 to U+FDEF, which no text holds");
  const Read& read = template_for(conversation);
  const bool marked = read.jinja->has_generation() && !conversation.completion;
  MaskedText out = marked ? by_marks(read, conversation) : by_turns(read, conversation);
  bool learned = false;
  for (const TextSpan& span : out.learned) learned |= span.begin < span.end;
  if (!learned) refuse("messages has no answer in the text that the template makes of them");
  return out;
}

MaskedText ChatTemplate::by_marks(const Read& read, const Conversation& conversation) const {
  const std::string text =
      text_of(read, conversation, conversation.messages, false, {begin_mark, end_mark});
  MaskedText out;
  bool inside = false;
  for (std::size_t at = 0; at < text.size();) {
    const bool begins = text.compare(at, begin_mark.size(), begin_mark) == 0;
    if (!begins && text.compare(at, end_mark.size(), end_mark) != 0) {
      out.text.push_back(text[at++]);
      continue;
    }
    if (begins == inside) refuse(read.place + " has generation blocks inside one another");
    inside = begins;
    if (begins)
      out.learned.push_back({out.text.size(), out.text.size()});
    else
      out.learned.back().end = out.text.size();
    at += begin_mark.size();
  }
  if (inside) refuse(read.place + " does not end a generation block");
  leave_out_unlearned(read, conversation, out);
  return out;
}

/// Blocks belong to answers in their order, where there are as many.
void ChatTemplate::leave_out_unlearned(const Read& read, const Conversation& conversation,
                                       MaskedText& out) {
  std::vector<bool> learned;
  bool all = true;
  for (std::size_t i = 0; i < conversation.messages.size(); ++i) {
    if (conversation.messages[i]["role"] != "assistant") continue;
    learned.push_back(conversation.learned[i]);
    all = all && conversation.learned[i];
  }
  if (all) return;
  if (learned.size() != out.learned.size())
    refuse(read.place + " writes " + std::to_string(out.learned.size()) +
           " generation blocks for " + std::to_string(learned.size()) +
           " turns of the assistant, of which some are not learned: write one block for each");
  std::vector<TextSpan> kept;
  for (std::size_t k = 0; k < learned.size(); ++k)
    if (learned[k]) kept.push_back(out.learned[k]);
  out.learned = std::move(kept);
}

MaskedText ChatTemplate::by_turns(const Read& read, const Conversation& conversation) const {
  AnswerSpans spans(conversation.messages, [&](const ordered_json& messages, bool ask) {
    return text_of(read, conversation, messages, ask, {});
  });
  MaskedText out;
  out.text = spans.text();
  const auto cannot_tell = [&](std::size_t i) {
    refuse(read.place + " does not write messages[" + std::to_string(i) +
           "] behind the prompt that asks for it: " + own_template);
  };
  if (conversation.completion) {
    const auto begin = spans.begin_of(*conversation.completion);
    if (!begin) cannot_tell(*conversation.completion);
    out.learned.push_back({*begin, out.text.size()});
    return out;
  }
  for (std::size_t i = 0; i < conversation.messages.size(); ++i) {
    if (!conversation.learned[i]) continue;
    const auto span = spans.of(i);
    if (!span && spans.is_left_out(i)) continue;
    const std::size_t before = out.learned.empty() ? 0 : out.learned.back().end;
    if (!span || span->begin < before) cannot_tell(i);
    out.learned.push_back(*span);
  }
  return out;
}

}  // namespace trainx::corpus
