// Conversations to text, as a tokenizer's own template writes them.
#pragma once
#include "corpus/chat/jinja.hpp"
#include "corpus/chat/template_source.hpp"
#include <mutex>
#include <vector>

namespace trainx::corpus {

/// Bytes [begin, end) of a text.
struct TextSpan {
  std::size_t begin = 0, end = 0;
};

/// A text, and what of it is learned.
struct MaskedText {
  std::string text;
  std::vector<TextSpan> learned;  // in order, apart from one another
};

/// Thread-safe.
class ChatTemplate {
 public:
  explicit ChatTemplate(TemplateSource source) : source_(std::move(source)) {}
  const TemplateSource& source() const { return source_; }

  /// {"messages": [{"role": "...", "content": ...}, ...], "tools": [...]}. What is learned are the
  /// assistant's turns: what stands in {% generation %} blocks of the template; without any, what
  /// a turn adds to the conversation so far with the prompt that asks for it. Throws UserError 65
  /// for a conversation or a template that is malformed, or whose turns cannot be told apart.
  MaskedText render(const nlohmann::ordered_json& conversation) const;

 private:
  const Jinja& jinja() const;
  std::string text_of(const nlohmann::ordered_json& conversation, std::size_t messages,
                      bool ask) const;
  MaskedText by_marks(const nlohmann::ordered_json& conversation) const;
  MaskedText by_prefixes(const nlohmann::ordered_json& conversation) const;

  TemplateSource source_;
  mutable std::mutex reading_;
  mutable std::unique_ptr<Jinja> jinja_;  // read when it is first needed
  mutable bool has_marks_ = false;
};

}  // namespace trainx::corpus
