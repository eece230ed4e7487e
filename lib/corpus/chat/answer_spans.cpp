#include "corpus/chat/answer_spans.hpp"
#include "core/error.hpp"
#include <algorithm>

namespace trainx::corpus {
namespace {

using nlohmann::ordered_json;

std::size_t common_prefix(std::string_view a, std::string_view b) {
  return static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

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
  return out;
}

std::optional<std::size_t> AnswerSpans::begin_of(std::size_t message) {
  const std::string asked = render_(first(message), true);
  if (whole_.starts_with(asked)) return asked.size();
  const std::string before = render_(first(message), false);
  places();
  const Agreement found = agreement(marked(message, true, asked), message);
  const Agreement without_prompt = agreement(marked(message, false, before), message);
  // The prompt itself has to be there, not only the end of the turn before it: unless the answer
  // goes on right there, as behind the result of a call.
  if (found.complete) return found.end;
  if (without_prompt.complete && says_at(message, without_prompt.end)) return without_prompt.end;
  if (found.end > without_prompt.end) return found.end;
  return std::nullopt;
}

bool AnswerSpans::says_at(std::size_t message, std::size_t place) const {
  const auto content = messages_[message].find("content");
  if (content == messages_[message].end() || !content->is_string()) return false;
  const auto text = content->get<std::string>();
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos) return false;
  const std::string said = text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
  return whole_.compare(place, said.size(), said) == 0;
}

std::optional<std::size_t> AnswerSpans::end_of(std::size_t message, std::size_t begin) {
  if (message + 1 == messages_.size()) return whole_.size();
  const std::string ended = render_(first(message + 1), false);
  if (whole_.starts_with(ended) && ended.size() >= begin) return ended.size();
  places();
  const Agreement found = agreement(marked(message + 1, false, ended), message + 1);
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
