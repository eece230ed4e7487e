#include "corpus/chat/answer_spans.hpp"
#include "core/error.hpp"
#include <algorithm>
#include <iterator>

namespace trainx::corpus {
namespace {

using nlohmann::ordered_json;

std::size_t common_prefix(std::string_view a, std::string_view b) {
  return static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

constexpr std::string_view blanks = " \t\r\n";

bool is_blank(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

/// Two texts that part inside a character or a tag as <|user|> or [INST] part before it.
std::size_t before_tag(const std::string& text, std::size_t at) {
  while (at > 0 && at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80) --at;
  constexpr std::size_t longest_tag = 64;
  for (std::size_t back = 1; back <= std::min(at, longest_tag); ++back) {
    const char c = text[at - back];
    if (c == '>' || c == ']' || is_blank(c)) return at;
    if (c != '<' && c != '[') continue;
    const char closing = c == '<' ? '>' : ']';
    for (std::size_t i = at; i < std::min(text.size(), at + longest_tag); ++i) {
      if (text[i] == closing) return at - back;
      if (is_blank(text[i]) || text[i] == c) return at;
    }
    return at;
  }
  return at;
}

/// Does a tag or a blank stand there?
bool begins_tag(std::string_view text, std::size_t at) {
  return text[at] == '<' || text[at] == '[' || is_blank(text[at]);
}

bool is_blank(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return is_blank(c); });
}

}  // namespace

AnswerSpans::AnswerSpans(const ordered_json& messages, Render render)
    : messages_(messages),
      render_(std::move(render)),
      whole_(render_(messages, false)),
      can_mark_(messages.size(), true) {}

ordered_json AnswerSpans::first(std::size_t count) const {
  return ordered_json(messages_.begin(), messages_.begin() + static_cast<std::ptrdiff_t>(count));
}

/// Marks that change what the template writes are left out, one after another.
Unmarked AnswerSpans::marked(std::size_t count, bool ask, const std::string& plain) {
  const auto with_marks = [&](const std::vector<bool>& which) {
    ordered_json messages = first(count);
    for (std::size_t i = 0; i < count; ++i)
      if (which[i]) add_mark(messages[i], i);
    try {
      return without_marks(render_(messages, ask));
    } catch (const UserError&) { return Unmarked{}; }  // a mark stands where it may not
  };
  Unmarked all = with_marks(can_mark_);
  if (all.text == plain) return all;
  std::vector<bool> kept(messages_.size(), false);
  for (std::size_t i = 0; i < count; ++i) {
    if (!can_mark_[i]) continue;
    std::vector<bool> one(messages_.size(), false);
    one[i] = true;
    kept[i] = with_marks(one).text == plain;
  }
  all = with_marks(kept);
  return all.text == plain ? all : Unmarked{plain, {}};
}

const std::map<std::size_t, std::size_t>& AnswerSpans::places() {
  if (!places_) {
    places_ = marked(messages_.size(), false, whole_).places;
    for (std::size_t i = 0; i < messages_.size(); ++i) can_mark_[i] = places_->contains(i);
  }
  return *places_;
}

AnswerSpans::Agreement AnswerSpans::agreement(const Unmarked& shorter, std::size_t count) {
  Agreement out;
  std::size_t there = 0;
  for (std::size_t i = count; i-- > 0;) {
    const auto here = places().find(i);
    const auto other = shorter.places.find(i);
    if (here == places().end() || other == shorter.places.end()) continue;
    out.anchor = here->second;
    there = other->second;
    break;
  }
  const std::string_view rest = std::string_view(shorter.text).substr(there);
  const std::size_t same = common_prefix(std::string_view(whole_).substr(out.anchor), rest);
  out.complete = same == rest.size();
  out.end = out.anchor + same;
  if (!out.complete) out.end = std::max(out.anchor, before_tag(whole_, out.end));
  out.rest = rest.substr(out.end - out.anchor);
  out.at_tag = out.complete || begins_tag(rest, out.end - out.anchor) ||
               (out.end > out.anchor && whole_[out.end - 1] == '\n') ||
               (out.end < whole_.size() && (whole_[out.end] == '<' || whole_[out.end] == '['));
  return out;
}

std::optional<std::string> AnswerSpans::text_of(std::size_t count, bool ask) {
  try {
    return render_(first(count), ask);
  } catch (const UserError&) { return std::nullopt; }
}

std::optional<std::size_t> AnswerSpans::begin_of(std::size_t message) {
  const auto asked = text_of(message, true);
  if (asked && whole_.starts_with(*asked)) return asked->size();
  const auto before = text_of(message, false);
  places();
  std::optional<std::size_t> right_there;
  if (asked && before) {
    const Agreement found = agreement(marked(message, true, *asked), message);
    const Agreement without_prompt = agreement(marked(message, false, *before), message);
    // The prompt itself has to be there, not only the end of the turn before it: unless the answer
    // goes on right there, as behind the result of a call.
    if (found.complete) return found.end;
    if (without_prompt.complete && says_at(message, without_prompt.end)) return without_prompt.end;
    if (found.end > without_prompt.end && (found.at_tag || says_at(message, found.end)))
      return found.end;
    // A question always ends with a prompt, and the whole conversation does not.
    if (*asked == *before && says_at(message, found.end) && !whole_.ends_with(found.rest))
      right_there = found.end;
  }
  const auto behind = behind_prompt(message, prompt_for(asked, before));
  return behind ? behind : right_there;
}

/// What a template adds to ask for an answer: behind these messages, else behind all.
std::string AnswerSpans::prompt_for(const std::optional<std::string>& asked,
                                    const std::optional<std::string>& before) {
  const auto added = [](const std::string& with, const std::string& without) {
    const std::size_t same = common_prefix(with, without);
    return with.substr(same == without.size() ? same : before_tag(with, same));
  };
  std::string prompt = asked && before ? added(*asked, *before) : "";
  if (is_blank(prompt)) {
    const auto all = text_of(messages_.size(), true);
    prompt = all ? added(*all, whole_) : "";
  }
  // Templates write other blanks before it.
  return is_blank(prompt) ? "" : prompt.substr(prompt.find_first_not_of(blanks));
}

/// Between what the message before says and what this one says, where the prompt stands there
/// once; else its beginning up to a tag, as <think>, which a turn need not keep.
std::optional<std::size_t> AnswerSpans::behind_prompt(std::size_t message,
                                                      const std::string& prompt) {
  const auto own = places().find(message);
  if (own == places().end() || is_blank(prompt)) return std::nullopt;
  const std::size_t from = own == places().begin() ? 0 : std::prev(own)->second;
  const std::size_t said = said_by(message).size();
  const bool verbatim = said <= own->second && said > 0 && says_at(message, own->second - said);
  const std::string_view between =
      std::string_view(whole_).substr(0, verbatim ? own->second - said : own->second);
  std::size_t longest = 0, place = 0, count = 0;
  for (std::size_t at = from; at < between.size(); ++at) {
    const std::size_t same_text = common_prefix(between.substr(at), prompt);
    std::size_t same = same_text == prompt.size() ? same_text : before_tag(prompt, same_text);
    if (same < prompt.size() && prompt[same] != '<' && prompt[same] != '[') {
      if (!verbatim || !is_blank(between.substr(at + same_text))) continue;
      same = same_text;  // the message follows right there
    }
    if (same < longest || is_blank(std::string_view(prompt).substr(0, same))) continue;
    count = same == longest ? count + 1 : 1;
    longest = same;
    place = at + same;
  }
  return count == 1 ? std::optional(place) : std::nullopt;
}

/// What a message says as a text, without the blanks around it.
std::string AnswerSpans::said_by(std::size_t message) const {
  const auto content = messages_[message].find("content");
  if (content == messages_[message].end()) return "";
  std::string text = content->is_string() ? content->get<std::string>() : "";
  if (content->is_array())
    for (const auto& part : *content)  // the last one is marked
      if (part.is_object() && part.contains("text") && part["text"].is_string())
        text = part["text"].get<std::string>();
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

bool AnswerSpans::says_at(std::size_t message, std::size_t place) const {
  const std::string said = said_by(message);
  while (place < whole_.size() && is_blank(whole_[place])) ++place;
  return !said.empty() && whole_.compare(place, said.size(), said) == 0;
}

bool AnswerSpans::is_left_out(std::size_t message) {
  if (!said_by(message).empty()) return false;
  ordered_json without = messages_;
  without[message] = {{"role", messages_[message]["role"]}, {"content", ""}};
  try {
    return render_(without, false) == whole_;
  } catch (const UserError&) { return false; }
}

std::optional<std::size_t> AnswerSpans::end_of(std::size_t message, std::size_t begin) {
  if (message + 1 == messages_.size()) return whole_.size();
  const auto ended = text_of(message + 1, false);
  if (!ended) return std::nullopt;
  if (whole_.starts_with(*ended) && ended->size() >= begin) return ended->size();
  places();
  const Agreement found = agreement(marked(message + 1, false, *ended), message + 1);
  const bool own = places().contains(message) && found.anchor == places().at(message);
  if (!own && found.end <= begin) return std::nullopt;
  return found.end;
}

std::optional<TextSpan> AnswerSpans::of(std::size_t message) {
  const auto begin = begin_of(message);
  if (!begin) return std::nullopt;
  const auto end = end_of(message, *begin);
  if (!end || *end < *begin) return std::nullopt;
  // What the message says is learned, and what others say is not.
  for (const auto& [other, place] : places_.value_or(std::map<std::size_t, std::size_t>())) {
    const bool inside = place > *begin && place <= *end;
    if (inside != (other == message)) return std::nullopt;
  }
  return TextSpan{*begin, *end};
}

}  // namespace trainx::corpus
