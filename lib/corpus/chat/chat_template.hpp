// Conversations to text, as a tokenizer's own template writes them.
#pragma once
#include "corpus/chat/conversation.hpp"
#include "corpus/chat/template_source.hpp"
#include "corpus/chat/text_span.hpp"
#include "jinja/template.hpp"
#include <ctime>
#include <map>
#include <memory>
#include <mutex>

namespace trainx::corpus {

/// Thread-safe.
class ChatTemplate {
 public:
  explicit ChatTemplate(TemplateSource source);
  const TemplateSource& source() const { return source_; }

  /// A record as read_conversation takes it. What is learned are the assistant's turns: what
  /// stands in {% generation %} blocks of the template; without any, what a turn adds to the
  /// conversation so far with the prompt that asks for it. Throws UserError 65 for a conversation
  /// or a template that is malformed, or whose turns cannot be told apart.
  MaskedText render(const nlohmann::ordered_json& record) const;

 private:
  struct Read {
    std::string place;
    std::unique_ptr<jinja::Template> jinja;
  };
  const Read& template_for(const Conversation& conversation) const;
  std::string text_of(const Read& read, const Conversation& conversation,
                      const nlohmann::ordered_json& messages, bool ask,
                      const jinja::Marks& marks) const;
  static void leave_out_unlearned(const Read& read, const Conversation& conversation,
                                  MaskedText& out);
  MaskedText by_marks(const Read& read, const Conversation& conversation) const;
  MaskedText by_turns(const Read& read, const Conversation& conversation) const;

  TemplateSource source_;
  std::time_t now_;
  mutable std::mutex reading_;
  mutable std::map<std::string, Read> read_;  // by name, when they are first needed
};

}  // namespace trainx::corpus
