#include "data/source.hpp"
#include "expect_user_error.hpp"
#include "sample.hpp"
#include "scratch_folder.hpp"

namespace trainx::data::labelled_test {
namespace {

constexpr std::int32_t no = no_target;

SourceOptions how(Targets targets, std::int64_t length = 6) {
  SourceOptions options;
  options.sequence_length = length;
  options.vocab_limit = 100;
  options.num_labels = 3;
  options.token_type_limit = 2;
  options.targets = targets;
  return options;
}

std::unique_ptr<Source> open_lines(const std::string& path, const SourceOptions& options,
                                   bool truncate = false) {
  if (path.ends_with(".jsonl"))
    return open_source(options::JsonlOptions{path, std::nullopt, truncate}, Split::train, options);
  return open_source(options::CsvOptions{path, std::nullopt, truncate, {}}, Split::train, options);
}

/// The same samples in each notation, with all columns.
std::vector<std::string> three_files(const ScratchFolder& folder) {
  return {folder.write("a.jsonl",
                       "{\"input_ids\": [5, 6, 7], \"token_type_ids\": [0, 1, 1], \"label\": 2, "
                       "\"labels\": [-100, 8, 9], \"text\": {\"a\": [[1.5, null]]}}\n"
                       "  {\"label\":0,\"labels\":null, \"input_ids\":[99]}\r\n"),
          folder.write("a.csv",
                       "label,text,input_ids,token_type_ids,labels\n2,\"a, \"\"b\"\"\",5 6 7,0 1 "
                       "1,-100 8 9\n0,,\" 99 \",,\n\n \n"),
          folder.write("a.tsv",
                       "label\ttext\t input_ids\ttoken_type_ids\tlabels\r\n2\t,\t5 6  7\t\"0 1 "
                       "1\"\t-100 8 9\r\n0\t\t99\t\t")};
}

}  // namespace

TEST_CASE("a packed line is several documents, each of which predicts itself alone") {
  const ScratchFolder folder;
  const std::string path = folder.write(
      "p.jsonl",
      "{\"input_ids\": [1, 2, 3, 4, 5], \"document_lengths\": [2, 3]}\n{\"input_ids\": [6, 7]}\n"
      "{\"input_ids\": [8, 9, 8], \"labels\": [8, 9, -100], \"document_lengths\": [3]}\n");
  const auto source = open_source(options::JsonlOptions{path, std::nullopt, false, true},
                                  Split::train, how(Targets::next_token));
  const auto row = [&](std::int64_t index) {
    Ids tokens(6), targets(6, no), starts(6, 0);
    source->read(index, {.tokens = tokens, .targets = targets, .document_starts = starts});
    return std::vector{tokens, targets, starts};
  };
  CHECK(row(0) == std::vector<Ids>{{1, 2, 3, 4, 5, 0}, {2, no, 4, 5, no, no}, {0, 0, 2, 2, 2, -1}});
  CHECK(row(1) ==
        std::vector<Ids>{{6, 7, 0, 0, 0, 0}, {7, no, no, no, no, no}, {0, 0, -1, -1, -1, -1}});
  CHECK(row(2) ==
        std::vector<Ids>{{8, 9, 8, 0, 0, 0}, {9, no, no, no, no, no}, {0, 0, 0, -1, -1, -1}});
  expect_user_error(ExitCode::bad_data, {"p.jsonl:1", "document_lengths", "packed: true"},
                    [&] { open_lines(path, how(Targets::next_token)); });
  for (const auto& [lengths, says] : {std::pair{"[2, 2]", "leaves 1"},
                                      {"[2, 4]", "4 where 3"},
                                      {"[0, 5]", "0 where 5"},
                                      {"[-1, 6]", "-1 where 5"},
                                      {"[]", "leaves 5"}}) {
    const std::string bad = folder.write(
        "bad.jsonl",
        std::string("{\"input_ids\": [1, 2, 3, 4, 5], \"document_lengths\": ") + lengths + "}\n");
    expect_user_error(ExitCode::bad_data, {"bad.jsonl:1", says}, [&] {
      open_source(options::JsonlOptions{bad, std::nullopt, false, true}, Split::train,
                  how(Targets::next_token));
    });
  }
}

TEST_CASE("a line is a sample: classes") {
  const ScratchFolder folder;
  for (const std::string& path : three_files(folder)) {
    INFO(path);
    for (const bool scan : {true, false}) {
      auto options = how(Targets::label);
      options.scan = scan;
      const auto source = open_lines(path, options);
      REQUIRE(source->samples() == 2);
      CHECK(source->vocab_size() == 0);
      CHECK(source->length(0) == 3);
      CHECK(source->length(1) == 1);
      // a row need not be sequence_length long
      const Sample first = read_sample(*source, 0, 4);
      CHECK(first.tokens == Ids{5, 6, 7, 0});
      CHECK(first.token_types == Ids{0, 1, 1, 0});
      CHECK(first.targets == Ids{no, no, no, no});
      CHECK(first.length == Ids{3});
      CHECK(first.label == Ids{2});
      const Sample second = read_sample(*source, 1, 1);
      CHECK(second.tokens == Ids{99});
      CHECK(second.label == Ids{0});
      CHECK_THROWS_AS(read_sample(*source, 2, 6), InternalError);
      CHECK_THROWS_AS(read_sample(*source, 0, 2), InternalError);
    }
  }
}

TEST_CASE("a line is a sample: a class for each token") {
  const ScratchFolder folder;
  const auto options = how(Targets::token_class);
  const std::string lines = folder.write(
      "t.jsonl", "{\"input_ids\": [5, 6, 7], \"labels\": [0, -100, 2], \"label\": 77}\n");
  const std::string columns = folder.write("t.csv", "input_ids,labels\n5 6 7,0 -100 2\n");
  for (const std::string& path : {lines, columns}) {
    const Sample sample = read_sample(*open_lines(path, options), 0, 4);
    CHECK(sample.tokens == Ids{5, 6, 7, 0});
    CHECK(sample.targets == Ids{0, no, 2, no});
  }
  for (const auto& [labels, says] : {std::pair{"[0, 1]", "2 values"},
                                     {"[0, 1, 3]", "labels[2] is 3"},
                                     {"[0, 1, -1]", "labels[2] is -1"},
                                     {"[0, 1, 0.5]", "labels[2]"},
                                     {"2", "labels"},
                                     {"null", "has no labels"}}) {
    const std::string bad = folder.write(
        "bad.jsonl", std::string("{\"input_ids\": [1, 2, 3], \"labels\": ") + labels + "}\n");
    expect_user_error(ExitCode::bad_data, {"bad.jsonl:1", says}, [&] { open_lines(bad, options); });
  }
}

TEST_CASE("a line is a sample: real numbers") {
  const ScratchFolder folder;
  const std::string lines =
      folder.write("n.jsonl",
                   "{\"input_ids\": [5, 6], \"labels\": [1, 0.25, 0]}\n"
                   "{\"label\": [0, 1e-3, 1.0], \"labels\": null, \"input_ids\": [7]}\n");
  const std::string columns =
      folder.write("n.csv", "input_ids,labels\n5 6,1 0.25 0\n7, 0  1e-3 1.0 \n");
  for (const std::string& path : {lines, columns})
    for (const Targets targets : {Targets::numbers, Targets::shares}) {
      const auto source = open_lines(path, how(targets));
      const Sample first = read_sample(*source, 0, 2, 3);
      CHECK(first.values == std::vector<float>{1, 0.25F, 0});
      CHECK(first.targets == Ids{no, no});
      CHECK(first.label == Ids{no});
      CHECK(read_sample(*source, 1, 2, 3).values == std::vector<float>{0, 1e-3F, 1});
    }
  auto one = how(Targets::numbers);
  one.num_labels = 1;
  const std::string scalars =
      folder.write("s.jsonl",
                   "{\"input_ids\": [5], \"label\": -3.5}\n{\"input_ids\": [5], \"labels\": 2}\n"
                   "{\"input_ids\": [5], \"label\": [7]}\n");
  const auto source = open_lines(scalars, one);
  for (const auto& [index, value] : {std::pair{0, -3.5F}, {1, 2.F}, {2, 7.F}})
    CHECK(read_sample(*source, index, 1, 1).values == std::vector<float>{value});
}

TEST_CASE("labels that are not the model's numbers are refused with their line") {
  const ScratchFolder folder;
  const auto refused = [&](Targets targets, const std::string& fields, const std::string& says) {
    const std::string bad = folder.write("bad.jsonl", "{\"input_ids\": [1]" + fields + "}\n");
    INFO(fields);
    expect_user_error(ExitCode::bad_data, {"bad.jsonl:1", says},
                      [&] { open_lines(bad, how(targets)); });
  };
  for (const Targets targets : {Targets::numbers, Targets::shares}) {
    refused(targets, "", "has no label");
    refused(targets, ", \"label\": null", "has no label");
    refused(targets, ", \"label\": []", "is empty");
    refused(targets, ", \"label\": 0.5", "1 numbers");
    refused(targets, ", \"labels\": [0, 1, 1, 0]", "4 numbers");
    refused(targets, ", \"label\": [0, 1, 1], \"labels\": [0, 1, 1]", "both");
    refused(targets, ", \"labels\": [0, true, 1]", "truth value");
    refused(targets, ", \"labels\": \"high\"", "text");
    refused(targets, ", \"labels\": [0, [1], 1]", "list");
    refused(targets, ", \"labels\": {\"a\": 1}", "object");
    refused(targets, ", \"labels\": [0, 1e39, 1]", "fp32");
    refused(targets, ", \"labels\": [0, 1e999, 1]", "malformed JSON");
    refused(targets, ", \"labels\": [0, NaN, 1]", "malformed JSON");
  }
  refused(Targets::shares, ", \"labels\": [0, 1.5, 1]", "1.5");
  refused(Targets::shares, ", \"labels\": [0, -0.5, 1]", "-0.5");
  const std::string csv = folder.write("bad.csv", "input_ids,label\n1,0 x 1\n");
  expect_user_error(ExitCode::bad_data, {"bad.csv:2", "label[1]"},
                    [&] { open_lines(csv, how(Targets::numbers)); });
}

TEST_CASE(
    "a line is a sample: tokens in their own place, and next tokens, which labels replace one to "
    "the left") {
  const ScratchFolder folder;
  for (const std::string& path : three_files(folder)) {
    INFO(path);
    const auto own = open_lines(path, how(Targets::own_token)),
               next = open_lines(path, how(Targets::next_token));
    CHECK(read_sample(*own, 0, 4).targets == Ids{no, 8, 9, no});
    CHECK(read_sample(*own, 1, 4).targets == Ids{no, no, no, no});  // to be drawn
    CHECK(read_sample(*next, 0, 4).targets == Ids{8, 9, no, no});
    CHECK(read_sample(*next, 1, 4).targets == Ids{no, no, no, no});  // one token has no next one
    CHECK(read_sample(*next, 0, 4).label == Ids{no});
  }
  const auto silent = open_lines(
      folder.write("silent.jsonl",
                   "{\"input_ids\": [5, 6], \"labels\": [-100, -100]}\n{\"input_ids\": [5, 6]}"),
      how(Targets::own_token));
  Ids tokens(2), targets(2, no);
  CHECK(silent->read(0, {tokens, targets}));        // says that there are none
  CHECK_FALSE(silent->read(1, {tokens, targets}));  // says nothing
  const auto plain = open_lines(folder.write("plain.jsonl", R"({"input_ids": [5, 6, 7]})"),
                                how(Targets::next_token));
  CHECK(read_sample(*plain, 0, 5).targets == Ids{6, 7, no, no, no});
}

TEST_CASE("a row without room for segments, length and label is filled with what it has") {
  const ScratchFolder folder;
  const auto source = open_lines(three_files(folder)[0], how(Targets::next_token));
  Ids tokens(3), targets(3, no);
  source->read(0, {tokens, targets});
  CHECK(tokens == Ids{5, 6, 7});
  CHECK(targets == Ids{8, 9, no});
}

TEST_CASE("a sample longer than the row is refused, or cut: its last token then has no target") {
  const ScratchFolder folder;
  const std::string path =
      folder.write("long.jsonl", "{\"input_ids\": [1]}\n{\"input_ids\": [1, 2, 3, 4, 5]}");
  expect_user_error(ExitCode::bad_data,
                    {path + ":2: ", "5 tokens", "data.sequence_length (4)", "data.truncate"},
                    [&] { open_lines(path, how(Targets::next_token, 4)); });
  const auto cut = open_lines(path, how(Targets::next_token, 4), true);
  CHECK(cut->length(1) == 4);
  CHECK(read_sample(*cut, 1, 4).tokens == Ids{1, 2, 3, 4});
  CHECK(read_sample(*cut, 1, 4).targets == Ids{2, 3, 4, no});
  CHECK(open_lines(path, how(Targets::next_token, 5))->length(1) == 5);
}

TEST_CASE("a cut sample keeps the tokens around its texts, which FILE.json names") {
  const ScratchFolder folder;
  const std::string path =
      folder.write("pair.jsonl",
                   "{\"input_ids\": [2, 10, 11, 12, 13, 3, 20, 21, 3], \"token_type_ids\": [0, 0, "
                   "0, 0, 0, 0, 1, 1, "
                   "1], \"labels\": [-100, 1, 2, 3, 4, -100, 5, 6, -100], \"label\": 1}\n");
  CHECK(read_sample(*open_lines(path, how(Targets::label, 7), true), 0, 7).tokens ==
        Ids{2, 10, 11, 12, 13, 3, 20});
  folder.write("pair.jsonl.json", R"({"special_tokens": [0, 1, 2, 3, 4]})");
  const auto cut = open_lines(path, how(Targets::label, 7), true);
  CHECK(cut->length(0) == 7);
  const Sample sample = read_sample(*cut, 0, 7);
  CHECK(sample.tokens == Ids{2, 10, 11, 3, 20, 21, 3});
  CHECK(sample.token_types == Ids{0, 0, 0, 0, 1, 1, 1});
  const auto tagged = open_lines(path, how(Targets::own_token, 7), true);
  CHECK(read_sample(*tagged, 0, 7).targets == Ids{no, 1, 2, no, 5, 6, no});
  // a decoder reads on from the beginning
  const auto text = open_lines(path, how(Targets::next_token, 7), true);
  CHECK(read_sample(*text, 0, 7).tokens == Ids{2, 10, 11, 12, 13, 3, 20});
}

TEST_CASE(
    "JSON lines that are no samples are refused with file and line, at opening or, unscanned, at "
    "reading") {
  const ScratchFolder folder;
  const auto refused = [&](Targets targets, const std::string& line,
                           const std::vector<std::string>& parts) {
    const std::string path =
        folder.write("bad.jsonl", "{\"input_ids\": [1, 2], \"label\": 1}\n" + line +
                                      "\n{\"input_ids\": [3], \"label\": 1}\n");
    std::vector<std::string> said{path + ":2: "};
    said.insert(said.end(), parts.begin(), parts.end());
    INFO(line.substr(0, 200));
    expect_user_error(ExitCode::bad_data, said, [&] { open_lines(path, how(targets)); });
    auto unscanned = how(targets);
    unscanned.scan = false;
    const auto source = open_lines(path, unscanned);
    CHECK(source->samples() == 3);
    CHECK(read_sample(*source, 0, 6).tokens[0] == 1);
    CHECK(read_sample(*source, 2, 6).tokens[0] == 3);
    expect_user_error(ExitCode::bad_data, said, [&] { read_sample(*source, 1, 6); });
    expect_user_error(ExitCode::bad_data, said, [&] { source->length(1); });
  };
  const auto label = Targets::label, next = Targets::next_token, own = Targets::own_token;
  refused(label, R"({"input_ids": [1, 2], "label": 3})", {"label is 3", "0 to 2", "num_labels"});
  refused(label, R"({"input_ids": [1, 2], "label": -1})", {"label is -1", "less than 0"});
  refused(label, R"({"input_ids": [1, 2]})", {"no label"});
  refused(label, R"({"input_ids": [1, 2], "label": null})", {"no label"});
  refused(label, R"({"input_ids": [1, 2], "label": [1]})", {"label is a list"});
  refused(label, R"({"input_ids": [1, 2], "label": "positive"})", {"label is text", "integer"});
  refused(label, R"({"input_ids": [1, 2], "label": 1.5})",
          {"label is a number that is no integer"});
  refused(label, R"({"input_ids": [1, 2], "label": true})", {"label is a truth value"});
  refused(next, R"({"input_ids": [1, 100]})",
          {"input_ids[1] is 100", "vocabulary of 100", "vocab_size"});
  refused(next, R"({"input_ids": [-5, 1]})", {"input_ids[0] is -5", "less than 0"});
  refused(next, R"({"input_ids": [1, 9223372036854775807]})",
          {"input_ids[1] is 9223372036854775807", "vocabulary"});
  refused(next, R"({"input_ids": [1, 9223372036854775808]})",
          {"input_ids[1] is an integer beyond 64 bits"});
  refused(next, R"({"input_ids": [1, 99999999999999999999]})", {"input_ids[1] is"});
  refused(next, R"({"input_ids": [1, 2.5]})", {"input_ids[1] is a number that is no integer"});
  refused(next, R"({"input_ids": [1, 1e2]})", {"no integer"});
  refused(next, R"({"input_ids": [1, null]})", {"input_ids[1] is null"});
  refused(next, R"({"input_ids": [1, [2]]})", {"input_ids[1] is a list"});
  refused(next, R"({"input_ids": [1, {}]})", {"input_ids[1] is an object"});
  refused(next, R"({"input_ids": 7})", {"input_ids is a number", "list of integers"});
  refused(next, R"({"input_ids": {"a": 1}})", {"input_ids is an object"});
  refused(next, R"({"input_ids": []})", {"input_ids is empty"});
  refused(next, R"({"input_ids": null})", {"no input_ids"});
  refused(next, R"({"text": "words"})", {"no input_ids"});
  refused(next, R"({})", {"no input_ids"});
  refused(next, R"([1, 2])", {"a list", "object"});
  refused(next, R"(7)", {"a number", "object"});
  refused(next, R"(null)", {"null", "object"});
  refused(next, R"({"input_ids": [1, 2], "labels": [1]})",
          {"labels has 1 values, but input_ids 2"});
  refused(next, R"({"input_ids": [1, 2], "labels": []})", {"labels has 0 values"});
  refused(next, R"({"input_ids": [1, 2], "token_type_ids": [0, 0, 0]})",
          {"token_type_ids has 3 values, but input_ids 2"});
  refused(next, R"({"input_ids": [1, 2], "token_type_ids": [0, 2]})",
          {"token_type_ids[1] is 2", "2 token types"});
  refused(next, R"({"input_ids": [1, 2], "attention_mask": [1, 0]})",
          {"attention_mask", "padding"});
  refused(own, R"({"input_ids": [1, 2], "labels": [-100, 100]})",
          {"labels[1] is 100", "vocabulary"});
  refused(own, R"({"input_ids": [1, 2], "labels": [-1, 5]})", {"labels[0] is -1"});
  refused(next, R"({"input_ids": [1, 2], "input_ids": [3]})", {"given twice", "\"input_ids\""});
  refused(next, R"({"input_ids": [1, 2], "x": 1, "x": 2})", {"given twice"});
  refused(next, R"({"input_ids": [1, 2)", {"malformed JSON at byte 20"});
  refused(next, R"({"input_ids": [1, 2]} {"input_ids": [1]})", {"malformed JSON"});
  refused(next, R"({"input_ids": [1, 2]}, )", {"malformed JSON"});
  refused(next, R"({'input_ids': [1, 2]})", {"malformed JSON at byte 2"});
  refused(next, R"({"input_ids": [01]})", {"malformed JSON"});
  refused(next, R"({"input_ids": [NaN]})", {"malformed JSON"});
  refused(next, "{\"input_ids\": [1], \"x\": \"\xFF\"}", {"malformed JSON"});
  refused(next, std::string("{\"input_ids\": [1]\0}", 19), {"malformed JSON"});
  const std::string deep(100'000, '[');
  refused(next, deep, {"a list", "object"});
  refused(next, "{\"input_ids\": " + deep, {"input_ids[0] is a list"});
  refused(next, "{\"x\": " + deep + std::string(100'000, ']') + ", \"input_ids\": [1]}",
          {"deeper than 100"});
  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += "{\"x\":";
  refused(next, objects, {"deeper than 100"});
}

TEST_CASE("what another task needs is no error here") {
  const ScratchFolder folder;
  const std::string path = folder.write(
      "a.jsonl",
      R"({"input_ids": [1, 2], "label": "positive", "labels": 1, "attention_mask": [1, 1]})"
      "\n\n  \n");
  expect_user_error(ExitCode::bad_data, {"label is text"},
                    [&] { open_lines(path, how(Targets::label)); });
  expect_user_error(ExitCode::bad_data, {"labels"},
                    [&] { open_lines(path, how(Targets::own_token)); });
  const std::string classes =
      folder.write("b.jsonl", R"({"input_ids": [1, 2], "label": 1, "labels": "x"})");
  CHECK(open_lines(classes, how(Targets::label))->samples() == 1);
  const std::string text = folder.write("c.jsonl",
                                        "\xEF\xBB\xBF"
                                        R"({"input_ids": [1, 2], "label": "positive"})"
                                        "\n\n \r\n");
  CHECK(open_lines(text, how(Targets::next_token))->samples() == 1);
}

TEST_CASE("lines of csv that are no samples are refused with file and line") {
  const ScratchFolder folder;
  const auto refused = [&](const std::string& text, const std::vector<std::string>& parts,
                           const std::string& name = "bad.csv") {
    INFO(text);
    const std::string path = folder.write(name, text);
    std::vector<std::string> said{path};
    said.insert(said.end(), parts.begin(), parts.end());
    expect_user_error(ExitCode::bad_data, said, [&] { open_lines(path, how(Targets::label)); });
  };
  refused("input_ids,label\n1 2,1\n1 2\n", {":3: ", "has 1 fields, but the header 2"});
  refused("input_ids,label\n1 2,1,\n", {":2: ", "has 3 fields, but the header 2"});
  refused("input_ids,label\n1 2,3\n", {":2: ", "label is 3"});
  refused("input_ids,label\n1 2,\n", {":2: ", "no label"});
  refused("input_ids,label\n1 2,1 1\n", {":2: ", "label has 2 integers"});
  refused("input_ids,label\n,1\n", {":2: ", "no input_ids"});
  refused("input_ids,label\n1 100,1\n", {":2: ", "input_ids[1] is 100"});
  refused("input_ids,label\n1 2x,1\n", {":2: ", "input_ids[1] is no integer"});
  refused("input_ids,label\n1 2.0,1\n", {":2: ", "input_ids[1] is no integer"});
  refused("input_ids,label\n\"[1, 2]\",1\n", {":2: ", "input_ids[0] is no integer", "blanks"});
  refused("input_ids,label\n1 99999999999999999999,1\n", {":2: ", "input_ids[1]"});
  refused("input_ids,label\n\"1 2,1\n", {":2: ", "field 1", "quote"});
  refused("input_ids,label\n\"1 2\"x,1\n", {":2: ", "field 1", "after its closing quote"});
  refused("input_ids,label\n1 2,1\n\n3,7\n", {":4: ", "label is 7"});
  refused("input_ids,label,token_type_ids\n1 2,1,0\n", {":2: ", "token_type_ids has 1 values"});
  refused("ids,label\n1 2,1\n", {":1: ", "no column input_ids", "commas"});
  refused("input_ids,label\n1 2,1\n", {":1: ", "no column input_ids", "tabs"}, "bad.tsv");
  refused("input_ids,label,label\n1 2,1,1\n", {":1: ", "label twice"});
  refused("input_ids,label\n", {"no samples"});
  refused("", {"empty"});
  refused("\n\n", {"empty"});
}

TEST_CASE("of many bad lines the first is told, however many threads look") {
  const ScratchFolder folder;
  std::string text;
  for (int i = 1; i <= 50'000; ++i)
    text += i >= 31'234 && i % 2 == 0 ? "{\"input_ids\": [100]}\n"
                                      : "{\"input_ids\": [" + std::to_string(i % 100) + ", 1]}\n";
  const std::string path = folder.write("many.jsonl", text);
  expect_user_error(ExitCode::bad_data, {path + ":31234: ", "input_ids[0] is 100"},
                    [&] { open_lines(path, how(Targets::next_token)); });
  const auto source =
      open_lines(folder.write("good.jsonl", text.substr(0, text.find("[100]") - 14)),
                 how(Targets::next_token));
  REQUIRE(source->samples() == 31'233);
  for (std::int64_t i = 0; i < source->samples(); ++i) REQUIRE(source->length(i) == 2);
  CHECK(read_sample(*source, 31'232, 2).tokens == Ids{33, 1});
}

TEST_CASE("the delimiter is the extension's, or as it is said") {
  const ScratchFolder folder;
  const std::string path = folder.write("a.txt", "input_ids\tlabel\n1 2\t1\n");
  expect_user_error(ExitCode::bad_data, {"data.delimiter"},
                    [&] { open_lines(path, how(Targets::label)); });
  const auto source =
      open_source(options::CsvOptions{path, std::nullopt, false, {options::Delimiter::tab}},
                  Split::train, how(Targets::label));
  CHECK(read_sample(*source, 0, 2).tokens == Ids{1, 2});
}

TEST_CASE("files without samples and files that are not there") {
  const ScratchFolder folder;
  expect_user_error(ExitCode::bad_data, {"no samples"},
                    [&] { open_lines(folder.write("empty.jsonl", ""), how(Targets::next_token)); });
  expect_user_error(ExitCode::bad_data, {"no samples"}, [&] {
    open_lines(folder.write("blank.jsonl", "\n \n"), how(Targets::next_token));
  });
  expect_user_error(ExitCode::input_missing, {"none.jsonl", "missing"},
                    [&] { open_lines(folder.path("none.jsonl"), how(Targets::next_token)); });
  expect_user_error(ExitCode::input_missing, {"none.csv", "missing"},
                    [&] { open_lines(folder.path("none.csv"), how(Targets::next_token)); });
  CHECK(open_source(options::JsonlOptions{"x", std::nullopt, false}, Split::eval,
                    how(Targets::label)) == nullptr);
  CHECK(open_source(options::CsvOptions{"x", std::nullopt, false, {}}, Split::eval,
                    how(Targets::label)) == nullptr);
}

TEST_CASE("text, tokens and stories have no targets in their own place and no classes") {
  const ScratchFolder folder;
  const options::TextOptions text{folder.write("a.txt", "abcdefghijkl"), std::nullopt};
  auto options = how(Targets::own_token, 4);
  options.vocab_limit = 256;
  const auto own = open_source(text, Split::train, options);
  CHECK(read_sample(*own, 0, 4).tokens == Ids{'a', 'b', 'c', 'd'});
  CHECK(read_sample(*own, 0, 4).targets == Ids{no, no, no, no});
  CHECK(own->vocab_size() == 256);
  CHECK(own->length(0) == 0);
  options.targets = Targets::label;
  expect_user_error(ExitCode::bad_data, {"class", "jsonl"},
                    [&] { open_source(text, Split::train, options); });
}

}  // namespace trainx::data::labelled_test
