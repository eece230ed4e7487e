// What is learned of templates without generation blocks.
#include "corpus/chat/answer_spans.hpp"
#include "corpus/chat/chat_template.hpp"
#include "support/catch.hpp"
#include "support/user_error.hpp"

namespace answer_spans_test {

using namespace trainx;
using namespace trainx::corpus;
using nlohmann::ordered_json;

namespace {

using Spans = std::vector<std::string>;

ChatTemplate template_of(const std::string& text) {
  TemplateSource source;
  source.templates["default"] = {text, "t.jinja"};
  source.variables = {{"eos_token", "</s>"}, {"bos_token", "<s>"}};
  return ChatTemplate(source);
}

Spans learned(const std::string& text, const ordered_json& record) {
  const MaskedText out = template_of(text).render(record);
  Spans spans;
  for (const TextSpan& span : out.learned)
    spans.push_back(out.text.substr(span.begin, span.end - span.begin));
  return spans;
}

ordered_json turn(const std::string& role, const std::string& content) {
  return {{"role", role}, {"content", content}};
}

ordered_json two_turns() {
  return {{"messages",
           {turn("user", "Hi"), turn("assistant", "Hello"), turn("user", "Bye"),
            turn("assistant", "Ok")}}};
}

}  // namespace

TEST_CASE("a turn lies between its prompt and the end of the conversation with it") {
  CHECK(learned("{% for m in messages %}[{{ m.role }}]{{ m.content }}{{ eos_token }}\n{% endfor %}"
                "{% if add_generation_prompt %}[assistant]{% endif %}",
                two_turns()) == Spans{"Hello</s>\n", "Ok</s>\n"});
}

TEST_CASE("what stands behind the last turn alone belongs to it") {
  CHECK(learned("{% for m in messages %}[{{ m.role }}]{{ m.content }}<e>\n{% endfor %}"
                "{% if add_generation_prompt %}[assistant]{% else %}{{ eos_token }}{% endif %}",
                two_turns()) == Spans{"Hello<e>\n", "Ok<e>\n</s>"});
  // The end of one and the tag of the next begin alike.
  CHECK(learned("{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% endfor %}"
                "{% if add_generation_prompt %}<|assistant|>{% else %}<|end|>{% endif %}",
                two_turns()) == Spans{"Hello", "Ok<|end|>"});
}

TEST_CASE("a thought that the prompt opens and a turn has not is no part of the prompt") {
  for (const char* text :
       {"{% for m in messages %}[{{ m.role }}]{{ m.content }}{{ eos_token }}{% endfor %}"
        "{% if add_generation_prompt %}[assistant]<think>\n{% endif %}",
        "{% for m in messages %}{{ '[' + m.role + ']' + m.content + eos_token }}{% endfor %}"
        "{% if add_generation_prompt %}{{ '[assistant]<think>\n' }}{% endif %}"})
    CHECK(learned(text, two_turns()) == Spans{"Hello</s>", "Ok</s>"});
  CHECK(learned(
            "{% for m in messages %}{% if m.role == 'assistant' %}{{ '<|A|></think>' + m.content }}"
            "{% else %}{{ '<|U|>' + m.content }}{% endif %}{% endfor %}"
            "{% if add_generation_prompt %}{{ '<|A|><think>' }}{% endif %}",
            two_turns()) == Spans{"</think>Hello", "</think>Ok"});
}

TEST_CASE("a call without a text is found by its name") {
  const std::string text =
      "{% for m in messages %}{% if m.role == 'assistant' %}[assistant]{% if loop.last %}<think>"
      "</think>{% endif %}{{ m.content }}{% if m.tool_calls %}<call>"
      "{{ m.tool_calls[0].function.name }}</call>{% endif %}<e>{% else %}[{{ m.role }}]"
      "{{ m.content }}<e>{% endif %}{% endfor %}{% if add_generation_prompt %}[assistant]{% endif "
      "%}";
  ordered_json call = turn("assistant", "");
  call["tool_calls"] =
      ordered_json::parse(R"([{"function": {"name": "ferry", "arguments": {"a": 1}}}])");
  CHECK(learned(text, {{"messages",
                        {turn("user", "When?"), call, turn("tool", "noon"),
                         turn("assistant", "At noon.")}}}) ==
        Spans{"<call>ferry</call><e>", "<think></think>At noon.<e>"});
}

TEST_CASE("an answer may go on behind a result without a prompt of its own") {
  CHECK(learned("{% for m in messages %}{% if m.role == 'user' %}<u>{{ m.content }}<a>{% else %}"
                "{{ m.content }}{% endif %}{% endfor %}{% if add_generation_prompt and "
                "messages[-1].role != 'user' %}<a>{% endif %}",
                {{"messages",
                  {turn("user", "When?"), turn("assistant", "calls"), turn("tool", "noon"),
                   turn("assistant", "At noon.")}}}) == Spans{"calls", "At noon."});
}

TEST_CASE("what earlier turns lose in the whole conversation does not move the later ones") {
  // A thought of a turn stays only behind the last question.
  const std::string text =
      "{% set ns = namespace(last=0) %}{% for m in messages %}{% if m.role == 'user' %}"
      "{% set ns.last = loop.index0 %}{% endif %}{% endfor %}{% for m in messages %}[{{ m.role }}]"
      "{% if m.thinking and loop.index0 > ns.last %}<think>{{ m.thinking }}</think>{% endif %}"
      "{{ m.content }}<e>{% endfor %}{% if add_generation_prompt %}[assistant]{% endif %}";
  ordered_json call = turn("assistant", "a call"), answer = turn("assistant", "an answer");
  call["reasoning"] = "why";
  answer["reasoning_content"] = "because";
  CHECK(learned(text, {{"messages",
                        {turn("user", "one"), call, turn("tool", "told"), answer,
                         turn("user", "two"), turn("assistant", "last")}}}) ==
        Spans{"a call<e>", "an answer<e>", "last<e>"});
}

TEST_CASE("a prompt that stands once between two messages is found there") {
  // The whole conversation writes the end of a question otherwise than a shorter one does.
  CHECK(learned("{% for m in messages %}{{ '[' + m.role + ']' + m.content }}{% if m.role == 'user' "
                "%}{{ ' /think' if loop.index0 + 2 > messages | length else ' /no' }}{% endif %}<e>"
                "{% endfor %}{% if add_generation_prompt %}[assistant]{% endif %}",
                two_turns()) == Spans{"Hello<e>", "Ok<e>"});
  const std::string thoughts =
      "{% for m in messages %}{% if m.role == 'user' %}<|U|>{{ m.content }}"
      "{{ '/a' if loop.last else '/b' }}{% else %}<|A|>{{ m.content }}{% endif %}<e>{% endfor %}"
      "{% if add_generation_prompt %}<|A|><think>{% endif %}";
  CHECK(learned(thoughts, two_turns()) == Spans{"Hello<e>", "Ok<e>"});
  // Fewer messages are refused.
  CHECK(learned("{% if messages | length < 4 %}{{ raise_exception('few') }}{% endif %}"
                "{% for m in messages %}[{{ m.role }}]{{ m.content }}<e>{% endfor %}"
                "{% if add_generation_prompt %}[assistant]{% endif %}",
                {{"messages",
                  {turn("system", "Be"), turn("user", "Hi"), turn("user", "Bye"),
                   turn("assistant", "Ok")}}}) == Spans{"Ok<e>"});
  // The answer says what the prompt is: its own words do not count.
  CHECK(learned(thoughts, {{"messages", {turn("user", "Hi"), turn("assistant", "an <|A|> is")}}}) ==
        Spans{"an <|A|> is<e>"});
}

TEST_CASE("a prompt without tags is told from what follows it") {
  // The turn has no header, and begins with the prompt's first letter.
  CHECK(learned("{% for m in messages %}{{ 'User: ' if m.role == 'user' }}{{ m.content }} "
                "{% endfor %}{% if add_generation_prompt %}Answer:{% endif %}",
                {{"messages", {turn("user", "Hi"), turn("assistant", "An hour.")}}}) ==
        Spans{"An hour. "});
  // The prompt opens with words that a turn has not.
  CHECK(learned("{% for m in messages %}<{{ m.role }}>\n{{ m.content }}{% endfor %}"
                "{% if add_generation_prompt %}<assistant>\nHere are my steps:\n{% endif %}",
                two_turns()) == Spans{"Hello", "Ok"});
  ordered_json call = turn("assistant", "");
  call["tool_calls"] = ordered_json::parse(R"([{"function": {"name": "ferry"}}])");
  CHECK(learned("{% for m in messages %}<{{ m.role }}>\n{{ m.content }}{% for c in m.tool_calls or "
                "[] %}<c>{{ c.function.name }}</c>{% endfor %}{% endfor %}"
                "{% if add_generation_prompt %}<assistant>\nMy steps:\n{% endif %}",
                {{"messages", {turn("user", "When?"), call}}}) == Spans{"<c>ferry</c>"});
  // The prompt stands behind questions, whether it is asked or not.
  CHECK(learned("{% for m in messages %}<{{ m.role }}>\n{{ m.content }}{% endfor %}"
                "{% if messages[-1].role == 'user' %}<assistant>\nMy steps:{% endif %}",
                two_turns()) == Spans{"Hello", "Ok"});
  // The header of a turn is longer than the prompt.
  CHECK(learned("{% for m in messages %}<turn><{{ m.role }}>{{ m.content }}<e>{% endfor %}"
                "{% if add_generation_prompt %}<assistant>\n{% else %}<end>{% endif %}",
                two_turns()) == Spans{"Hello<e>", "Ok<e><end>"});
}

TEST_CASE("the name of a call may be written beside its result again") {
  ordered_json call = turn("assistant", "");
  call["tool_calls"] = ordered_json::parse(R"([{"function": {"name": "ferry"}}])");
  const ordered_json chat = {
      {"messages",
       {turn("user", "When?"), call, turn("tool", "noon"), turn("assistant", "At noon.")}}};
  CHECK(learned("{% for m in messages %}{% if m.role == 'tool' %}<r>"
                "{{ messages[loop.index0 - 1].tool_calls[0].function.name }}={{ m.content }}</r>"
                "{% elif m.tool_calls %}<assistant><c>{{ m.tool_calls[0].function.name }}</c>"
                "{% else %}<{{ m.role }}>{{ m.content }}{% endif %}<e>{% endfor %}"
                "{% if add_generation_prompt %}<assistant><think></think>{% endif %}",
                chat) == Spans{"<c>ferry</c><e>", "At noon.<e>"});
  // A call that the template leaves out has nothing to learn.
  CHECK(learned("{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}"
                "{% if add_generation_prompt %}<assistant>{% else %}</s>{% endif %}",
                chat) == Spans{"At noon.</s>"});
}

TEST_CASE("texts that say the same, or what stands in tags, are told apart") {
  CHECK(learned("{% for m in messages %}[{{ m.role }}]{{ m.content }}<e>{% endfor %}"
                "{% if add_generation_prompt %}[assistant]{% else %}{{ eos_token }}{% endif %}",
                {{"messages",
                  {turn("user", "assistant"), turn("assistant", "user"), turn("user", "assistant"),
                   turn("assistant", "user")}}}) == Spans{"user<e>", "user<e></s>"});
}

TEST_CASE("of a prompt and its completion all behind the prompt is learned") {
  const std::string text =
      "{% for m in messages %}[{{ m.role }}]{% generation %}{{ m.content }}{% endgeneration %}<e>"
      "{% endfor %}{% if add_generation_prompt %}[assistant]{% endif %}";
  CHECK(learned(text,
                {{"prompt", {turn("user", "Hi")}},
                 {"completion",
                  {turn("assistant", "Hello"), turn("user", "More"), turn("assistant", "Ok")}}}) ==
        Spans{"Hello<e>[user]More<e>[assistant]Ok<e>"});
}

TEST_CASE("a turn that cannot be told apart is refused with its number") {
  const auto refused = [](const std::string& text, const ordered_json& record) {
    return user_error_of([&] { learned(text, record); });
  };
  const std::string told =
      refused("{% for m in messages | reverse %}{{ m.content }}{% endfor %}", two_turns());
  CHECK(told.starts_with("65: "));
  CHECK(told.find("messages[1]") != std::string::npos);
  CHECK(told.find("--chat-template") != std::string::npos);
  // A template that always ends with a prompt does not say where an answer ends.
  CHECK(refused("Judge: {% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %} Verdict:",
                two_turns())
            .find("messages[1]") != std::string::npos);
  // The prompt stands twice between two messages, or not there at all.
  for (const char* prompts : {"[assistant][assistant]", "[answer]"})
    CHECK(refused("{% for m in messages %}{% if m.role == 'user' %}[user]{{ m.content }}"
                  "{{ 'a' if loop.last else 'b' }}{% else %}" +
                      std::string(prompts) +
                      "{{ m.content }}{% endif %}{% endfor %}"
                      "{% if add_generation_prompt %}[assistant]{% endif %}",
                  two_turns())
              .find("messages[1]") != std::string::npos);
  CHECK(refused("{{ 'x' }}", {{"messages", {turn("user", "\xEF\xB7\x90"), turn("assistant", "a")}}})
            .starts_with("65: "));
}

}  // namespace answer_spans_test
