#pragma once
#include "corpus/chat/text_span.hpp"
#include "corpus/chat/content_marks.hpp"
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace trainx::corpus {

/// Finds what a template without generation blocks writes for each answer of a conversation. An
/// answer begins behind the prompt that asks for it, and ends where the conversation would end
/// with it. Where the whole conversation writes the turns before an answer, or its end, otherwise
/// than these shorter ones do, places are found by marks behind what the messages say, and by the
/// prompt, if it stands once between what two messages say.
class AnswerSpans {
 public:
  /// The text of messages; `ask`: with the prompt for an answer behind them.
  using Render = std::function<std::string(const nlohmann::ordered_json& messages, bool ask)>;
  AnswerSpans(const nlohmann::ordered_json& messages, Render render);

  const std::string& text() const { return whole_; }
  /// Nothing: what the message adds cannot be told apart. Throws what `render` throws.
  std::optional<TextSpan> of(std::size_t message);
  std::optional<std::size_t> begin_of(std::size_t message);
  /// Whether the template leaves out all that the message has, as a call without a text.
  bool is_left_out(std::size_t message);

 private:
  /// Does the whole text have there what the message says?
  bool says_at(std::size_t message, std::size_t place) const;
  std::string said_by(std::size_t message) const;
  /// The first messages as text; nothing: the template refuses so few.
  std::optional<std::string> text_of(std::size_t count, bool ask);
  std::string prompt_for(const std::optional<std::string>& asked,
                         const std::optional<std::string>& before);
  std::optional<std::size_t> behind_prompt(std::size_t message, const std::string& prompt);
  std::optional<std::size_t> end_of(std::size_t message, std::size_t begin);
  nlohmann::ordered_json first(std::size_t count) const;
  Unmarked marked(std::size_t count, bool ask, const std::string& plain);
  const std::map<std::size_t, std::size_t>& places();
  /// Where the whole text and a shorter one are the same from the last mark on that both have, of
  /// the first `count` messages: the place in the whole text, how far they agree there, whether
  /// that is all of the shorter one, and whether they part where a tag or a line begins.
  struct Agreement {
    std::size_t anchor = 0, end = 0;
    bool complete = false, at_tag = false;
    std::string rest = {};  // of the shorter one
  };
  Agreement agreement(const Unmarked& shorter, std::size_t count);

  const nlohmann::ordered_json& messages_;
  Render render_;
  std::string whole_;
  std::vector<bool> can_mark_;
  std::optional<std::map<std::size_t, std::size_t>> places_;
};

}  // namespace trainx::corpus
