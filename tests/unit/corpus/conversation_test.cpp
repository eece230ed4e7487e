// Conversations before a template sees them.
#include "corpus/chat/chat_template.hpp"
#include "corpus/record.hpp"
#include "support/catch.hpp"
#include "support/user_error.hpp"
#include "unit/data/scratch_folder.hpp"

namespace conversation_test {

using namespace trainx;
using namespace trainx::corpus;
using nlohmann::ordered_json;

namespace {

ordered_json json(const char* text) { return ordered_json::parse(text); }

Conversation read(const std::string& line) {
  const auto reader = make_json_reader({});
  return read_conversation(*reader->read(line, {"a.jsonl", 1}).conversation);
}

std::string refused(const std::string& line) {
  return user_error_of([&] { read(line); });
}

const std::string answer = R"({"role": "assistant", "content": "a"})";

}  // namespace

TEST_CASE("keys of messages that are null are left out, others stay") {
  const Conversation got = read(
      R"({"messages": [{"role": "user", "content": "a", "tool_calls": null, "x": {"y": null}}, )" +
      answer + R"(], "tools": null, "chat_template_kwargs": null})");
  CHECK(got.messages[0] == json(R"({"role": "user", "content": "a", "x": {"y": null}})"));
  CHECK(got.tools.is_null());
  CHECK(got.variables.empty());
}

TEST_CASE("a thought goes by the names that templates read") {
  const auto message = [](const std::string& keys) {
    return read(R"({"messages": [{"role": "assistant", "content": "a", )" + keys + "}]}")
        .messages[0]
        .dump();
  };
  CHECK(
      message(R"("reasoning": "r")") ==
      R"({"thinking":"r","role":"assistant","content":"a","reasoning":"r","reasoning_content":"r"})");
  CHECK(message(R"("thinking": "t", "reasoning_content": "r")") ==
        R"({"thinking":"t","role":"assistant","content":"a","reasoning_content":"r"})");
  CHECK(
      message(R"("thinking": null, "reasoning": "r")") ==
      R"({"thinking":"r","role":"assistant","content":"a","reasoning":"r","reasoning_content":"r"})");
}

TEST_CASE("tools are a list of objects, or the same as text") {
  const auto tools = [](const std::string& value) {
    return read(R"({"messages": [)" + answer + R"(], "tools": )" + value + "}").tools;
  };
  CHECK(tools(R"([{"name": "f"}])") == tools(R"("[{\"name\": \"f\"}]")"));
  CHECK(tools(R"("[]")") == ordered_json::array());
  CHECK(tools(R"("null")").is_null());
  for (const char* bad :
       {R"("f")", R"("{}")", R"(["f"])", R"("[1]")", "1", R"({"name": "f"})", R"("")"})
    CHECK(
        refused(R"({"messages": [)" + answer + R"(], "tools": )" + bad + "}").starts_with("65: "));
}

TEST_CASE("variables of a template do not stand for the conversation") {
  CHECK(read(R"({"messages": [)" + answer + R"(], "chat_template_kwargs": {"x": 1}})").variables ==
        json(R"({"x": 1})"));
  for (const char* bad : {R"({"messages": []})", R"({"tools": []})", "[]", R"("x")"})
    CHECK(refused(R"({"messages": [)" + answer + R"(], "chat_template_kwargs": )" + bad + "}")
              .starts_with("65: "));
}

TEST_CASE("turns of TRL, ShareGPT and Alpaca are a conversation") {
  const Conversation trl =
      read(R"({"prompt": [{"role": "user", "content": "q"}], "completion": [)" + answer + "]}");
  CHECK(trl.completion == 1);
  CHECK(trl.messages.size() == 2);
  const ordered_json wanted = json(
      R"([{"role": "system", "content": "s"}, {"role": "user", "content": "q"},
          {"role": "assistant", "content": "a"}, {"role": "tool", "content": "t"}])");
  CHECK(read(R"({"system": "s", "conversations": [{"from": "human", "value": "q"},
                 {"from": "gpt", "value": "a"}, {"from": "observation", "value": "t"}]})")
            .messages == wanted);
  const ordered_json asked =
      json(R"([{"role": "user", "content": "q\nmore"}, {"role": "assistant", "content": "a"}])");
  CHECK(read(R"({"instruction": "q", "input": "more", "output": "a"})").messages == asked);
  CHECK(read(R"({"instruction": "q\nmore", "input": "", "output": "a"})").messages == asked);
  for (const char* bad :
       {R"({"conversations": [{"from": "function_call", "value": "a"}]})",
        R"({"conversations": [{"from": "gpt"}]})", R"({"conversations": []})",
        R"({"conversations": "a"})", R"({"instruction": "a", "output": 1})",
        R"({"instruction": "a", "output": "b", "history": [["c", "d"]]})",
        R"({"prompt": [{"role": "user", "content": "q"}], "completion": [{"role": "user"}]})",
        R"({"messages": [{"role": "user", "content": "a"}]})", R"({"messages": []})",
        R"({"messages": [1]})", R"({"messages": [{"content": "a"}]})"})
    CHECK(refused(bad).starts_with("65: "));
}

TEST_CASE("turns say whether they are learned, in the words of other tools") {
  const auto learned = [](const std::string& keys) {
    return read(R"({"messages": [{"role": "user", "content": "q"}, {"role": "assistant", )"
                R"("content": "a", )" +
                keys + "}, " + answer + "]}")
        .learned;
  };
  using Learned = std::vector<bool>;
  for (const char* name :
       {"weight", "loss", "loss_mask", "loss_scale", "train", "training", "trainable"}) {
    const std::string key = std::string("\"") + name + "\": ";
    for (const char* no : {"0", "0.0", "false"}) CHECK(learned(key + no) == Learned{0, 0, 1});
    for (const char* yes : {"1", "1.0", "true", "null"})
      CHECK(learned(key + yes) == Learned{0, 1, 1});
    for (const char* bad : {"0.5", "2", "-1", R"("no")", "[0]", "{}"})
      CHECK(refused(R"({"messages": [{"role": "assistant", "content": "a", )" + key + bad + "}]}")
                .starts_with("65: "));
  }
  CHECK(learned(R"("masked": true)") == Learned{0, 0, 1});
  CHECK(learned(R"("masked": false, "weight": 1)") == Learned{0, 1, 1});
  CHECK(learned(R"("name": "b")") == Learned{0, 1, 1});
  const std::string user = R"({"role": "user", "content": "q", )";
  for (const std::string& bad : std::vector<std::string>{
           R"({"messages": [{"role": "assistant", "content": "a", "weight": 1, "train": false}]})",
           R"({"messages": [{"role": "assistant", "content": "a", "train_detail": []}]})",
           R"({"messages": [)" + user + R"("train": true}, )" + answer + "]}",
           R"({"prompt": [{"role": "assistant", "content": "a", "weight": 1}], "completion": [)" +
               answer + "]}",
           R"({"prompt": [)" + user +
               R"("weight": 0}], "completion": [{"role": "assistant", )"
               R"("content": "a", "weight": 0}]})"}) {
    const std::string told = refused(bad);
    CHECK(told.starts_with("65: "));
    CHECK(told.find("[0]") != std::string::npos);
  }
  CHECK(read(R"({"messages": [)" + user + R"("train": false}, )" + answer + "]}").learned ==
        Learned{0, 1});
  CHECK(read(R"({"conversations": [{"from": "human", "value": "q"},
                 {"from": "gpt", "value": "a", "weight": 0}, {"from": "human", "value": "q"},
                 {"from": "gpt", "value": "a", "weight": 1}]})")
            .learned == Learned{0, 0, 0, 1});
}

TEST_CASE("fields by which other tools learn otherwise are not left out beside answers") {
  const std::string messages = R"({"messages": [)" + answer + "]",
                    pair = R"({"prompt": "q", "completion": "a")";
  const auto taken = [&](const std::string& start, const std::string& more) {
    return make_json_reader({})->read(start + more + "}", {"a.jsonl", 1});
  };
  for (const std::string& start : {messages, pair}) {
    for (const char* bad : {R"("loss_mask": [0])", R"("completion_mask": [1])", R"("weight": 0)",
                            R"("sample_weight": 0.5)", R"("label": false)", R"("label": true)"})
      CHECK(user_error_of([&] {
              taken(start, std::string(", ") + bad);
            }).starts_with("65: a.jsonl:1"));
    for (const char* free : {R"("weight": 1)", R"("weight": null)", R"("label": 3)", R"("id": 7)",
                             R"("source": "x")", R"("score": 0.5)"})
      CHECK_NOTHROW(taken(start, std::string(", ") + free));
  }
  for (const std::string columns : {"prompt,completion", "instruction,output"}) {
    CHECK_NOTHROW(make_csv_reader(columns + ",id", {"a.csv", 1}, {}));
    for (const char* bad : {"weight", "loss_mask", "completion_mask"})
      CHECK(user_error_of([&] {
              make_csv_reader(columns + "," + bad, {"a.csv", 1}, {});
            }).starts_with("65: a.csv:1"));
  }
}

TEST_CASE("what is not learned is left out, by blocks and by turns") {
  const ordered_json record = json(
      R"({"messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "no",
                        "weight": 0}, {"role": "user", "content": "q"},
                       {"role": "assistant", "content": "yes", "weight": 1}]})");
  const auto learned = [&](const std::string& text) {
    TemplateSource source;
    source.templates["default"] = {text, "a"};
    const MaskedText out = ChatTemplate(source).render(record);
    std::string words;
    for (const TextSpan& span : out.learned)
      words += out.text.substr(span.begin, span.end - span.begin) + "|";
    return words;
  };
  const std::string loop = "{% for m in messages %}<{{ m.role }}>", end = "{% endfor %}";
  const std::string block = "{% generation %}{{ m.content }}.{% endgeneration %}";
  CHECK(learned(loop + "{% if m.role == 'assistant' %}" + block + "{% else %}{{ m.content }}" +
                "{% endif %}" + end) == "yes.|");
  CHECK(learned(loop + "{{ m.content }}." + end +
                "{% if add_generation_prompt %}<assistant>{% endif %}") == "yes.|");
  // a block of each turn is no block of each answer
  CHECK(user_error_of([&] { learned(loop + block + end); }).starts_with("65: "));
}

TEST_CASE("columns of Alpaca are the conversation that its objects are") {
  const data::labelled::LinePlace place{"a.csv", 2};
  const auto row = [&](const std::string& header, const std::string& line,
                       const FieldNames& names = {}) {
    return make_csv_reader(header, {"a.csv", 1}, names)->read(line, place);
  };
  const auto turns = [&](const std::string& header, const std::string& line) {
    const Record record = row(header, line);
    CHECK(record.unread.empty());
    return read_conversation(*record.conversation).messages;
  };
  const ordered_json asked =
      json(R"([{"role": "user", "content": "q\nmore"}, {"role": "assistant", "content": "a"}])");
  CHECK(turns("instruction,input,output", "q,more,a") == asked);
  CHECK(turns("output,labels,instruction,input", "a,x,\"q\nmore\",") == asked);
  CHECK(turns("instruction,output,history", "\"q\nmore\",a,[]") == asked);
  CHECK(turns("instruction,output,system,text_pair", "q,a,s,p")[0] ==
        json(R"({"role": "system", "content": "s"})"));
  CHECK(make_tsv_reader("instruction\toutput", place, {})->read("q\ta", place).conversation);
  // Other columns go first.
  CHECK(row("text,instruction,output", "t,q,a").text == "t");
  CHECK(row("prompt,completion,instruction,output", "p,c,q,a").completion == "c");
  const auto refusal = [&](const std::string& header, const std::string& line,
                           const FieldNames& names) {
    return user_error_of([&] { row(header, line, names); });
  };
  CHECK(refusal("instruction,output,history", "q,a,\"[[1, 2]]\"", {}).starts_with("65: a.csv:2"));
  FieldNames named;
  named.prompt = "instruction";
  named.completion = "output";
  CHECK(row("instruction,input,output", "q,,a", named).completion == "a");
  CHECK(refusal("instruction,input,output", "q,more,a", named).starts_with("65: a.csv:2"));
}

TEST_CASE("templates have names, and files go before tokenizer_config.json") {
  const data::ScratchFolder folder;
  const std::string tokenizer = folder.write("tokenizer.json", "{}");
  const auto names = [&](const std::string& named = "") {
    std::string out;
    for (const auto& [name, one] : find_template(tokenizer, named).templates)
      out += name + "=" + one.text + ";";
    return out;
  };
  CHECK(names().empty());
  CHECK(find_template(tokenizer, "").hash().empty());
  folder.write("tokenizer_config.json", R"({"chat_template": "c", "eos_token": {"content": "E"}})");
  CHECK(names() == "default=c;");
  folder.write("tokenizer_config.json",
               R"({"chat_template": [{"name": "default", "template": "c"}, {"name": "tool_use",
                   "template": "t"}]})");
  CHECK(names() == "default=c;tool_use=t;");
  CHECK(names("tool_use") == "default=t;");
  folder.write("chat_template.jinja", "f");
  CHECK(names() == "default=f;");
  folder.write("additional_chat_templates/rag.jinja", "r");
  CHECK(names() == "default=f;rag=r;");
  CHECK(names("rag") == "default=r;");
  CHECK(find_template(tokenizer, "rag").named == "r");
  const std::string own = folder.write("own.jinja", "o");
  CHECK(names(own) == "default=o;");
  CHECK(user_error_of([&] { names("none"); }).starts_with("66: "));
  const data::ScratchFolder malformed;
  malformed.write("tokenizer_config.json", R"({"chat_template": [{"name": 1}]})");
  CHECK(user_error_of([&] {
          find_template(malformed.path("tokenizer.json"), "");
        }).starts_with("65: "));
}

TEST_CASE("conversations with tools take the template for tools") {
  TemplateSource source;
  const std::string end =
      "{% for m in messages %}{% generation %}{{ m.content }}{% endgeneration %}{% endfor %}";
  source.templates["default"] = {"default" + end, "a"};
  source.templates["tool_use"] = {"tools" + end, "b"};
  const ChatTemplate chat(source);
  const ordered_json messages = json(R"([{"role": "assistant", "content": "!"}])");
  CHECK(chat.render({{"messages", messages}}).text == "default!");
  CHECK(chat.render({{"messages", messages}, {"tools", json("[]")}}).text == "tools!");
  source.templates.erase("default");
  CHECK(user_error_of([&] {
          ChatTemplate(source).render({{"messages", messages}});
        }).starts_with("65: "));
}

}  // namespace conversation_test
