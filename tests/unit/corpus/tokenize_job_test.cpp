#include "corpus/tokenize_job.hpp"
#include "corpus/document_cut.hpp"
#include "data/tokens/token_reader.hpp"
#include "made_tokenizer.hpp"
#include "unit/data/expect_user_error.hpp"
#include <sstream>
#include <nlohmann/json.hpp>
#include <algorithm>
#include <fstream>
#include <iterator>
#include <random>

namespace trainx::corpus::tokenize_job_test {
namespace {

using tokenizer::Ids;

std::string contents_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

Ids tokens_in(const std::string& path) {
  const data::tokens::TokenReader reader(path, {}, 0);
  Ids ids;
  for (std::int64_t i = 0; i < reader.count(); ++i) ids.push_back(reader.token(i));
  return ids;
}

std::string random_text(std::mt19937& random, std::size_t bytes) {
  static const char* const words[] = {"the",  "cat", "sat",  "rat", "mat,", "x1", "\n",
                                      "\n\n", "é",   "中文", "  ",  "'s",   "--", "1234"};
  std::string text;
  while (text.size() < bytes)
    text += std::string(words[random() % std::size(words)]) + (random() % 5 ? " " : "");
  return text;
}

JobReport run(const MadeTokenizer& made, const JobOptions& o) {
  return run_tokenize_job(*made.tokenizer, o, [](const JobProgress&) {});
}

}  // namespace

TEST_CASE(
    "a long document has the tokens of the whole, piece by piece and in any number of threads") {
  const auto seed = std::random_device{}();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  const MadeTokenizer made;
  const std::string text = random_text(random, 5 << 20);
  Ids pieces;
  append_document(text, *made.tokenizer->make_encoder(), pieces, "here");
  const Ids whole = made.encode(text);
  REQUIRE(pieces == whole);
  for (const int threads : {1, 3}) {
    JobOptions o;
    o.inputs = {made.folder.write("text.txt", text)};
    o.out = made.folder.path("out" + std::to_string(threads) + ".bin");
    o.threads = threads;
    o.output.end_of_text = 0;
    const JobReport report = run(made, o);
    CHECK(report.documents == 1);
    Ids with_end = whole;
    with_end.push_back(0);
    CHECK(tokens_in(o.out) == with_end);
  }
}

TEST_CASE("a text without blanks is cut too") {
  const MadeTokenizer made;
  for (const std::string& text : {std::string(3 << 20, 'a'), std::string(3 << 20, '\n')}) {
    Ids pieces;
    append_document(text, *made.tokenizer->make_encoder(), pieces, "here");
    CHECK(made.tokenizer->decode(pieces, false) == text);
  }
}

TEST_CASE(
    "byte order marks and carriage returns are no text; files are documents in the order of their "
    "names") {
  const MadeTokenizer made;
  made.folder.write("in/b.txt", "the cat\r\nsat\r\n");
  made.folder.write("in/a/x.txt", "\xEF\xBB\xBFthe mat");
  made.folder.write("in/.hidden", "\xff");
  JobOptions o;
  o.inputs = {made.folder.path("in")};
  o.out = made.folder.path("out.bin");
  o.output.end_of_text = 0;
  CHECK(run(made, o).documents == 2);
  Ids want = made.encode("the mat");
  want.push_back(0);
  for (const std::int32_t id : made.encode("the cat\nsat\n")) want.push_back(id);
  want.push_back(0);
  CHECK(tokens_in(o.out) == want);
  data::expect_user_error(ExitCode::cannot_create, {o.out, "there already"}, [&] { run(made, o); });
}

TEST_CASE("bad text is refused with file and line") {
  const MadeTokenizer made;
  const auto expect = [&](const std::string& name, const std::string& contents,
                          const std::vector<std::string>& says,
                          const std::string& out = "out.bin") {
    JobOptions o;
    o.inputs = {made.folder.write(name, contents)};
    o.out = made.folder.path(out);
    INFO(name);
    std::vector<std::string> all{o.inputs[0]};
    all.insert(all.end(), says.begin(), says.end());
    data::expect_user_error(ExitCode::bad_data, all, [&] { run(made, o); });
  };
  std::string many;
  for (int i = 0; i < 60'000; ++i) many += "{\"text\": \"the cat\"}\n";
  expect("latin.txt", "the\ncat \xe9 sat", {":2:", "UTF-8", "byte 8"});
  expect("nul.txt", std::string("the\n\ncat\0", 9), {":3:", "NUL"});
  expect("empty.txt", "", {"is empty"});
  expect("mark.txt", "\xEF\xBB\xBF", {"is empty"});
  expect("cut.txt", "the \xe4\xb8", {":1:", "byte 4"});
  expect("empty.jsonl", "", {"is empty"});
  expect("far.jsonl", many + "{\"text\": 1}\n", {":60001:", "'text'"});
  expect("broken.jsonl", "{\"text\": \"a\"}\n{\"text\": \"a\n", {":2:", "malformed JSON"});
  expect("surrogate.jsonl", "{\"text\": \"\\ud800\"}\n", {":1:", "malformed JSON"});
  expect("other.jsonl", "{\"sentence\": \"a\"}\n", {":1:", "has no 'text'"});
  expect("blank.jsonl", "{\"text\": \"a\"}\n\n{\"text\": 1}\n", {":3:", "'text'"});
  expect("pair.jsonl", "{\"text\": \"a\", \"text_pair\": \"b\"}\n", {":1:", "pair", ".jsonl"});
  expect("label.jsonl", "{\"text\": \"a\", \"label\": true}\n", {":1:", "'label'"}, "out.jsonl");
  expect("none.jsonl", "{\"text\": \"a\", \"label\": []}\n", {":1:", "'label'"}, "out.jsonl");
  expect("deep.jsonl", "{\"text\": \"a\", \"label\": [[1]]}\n", {":1:", "'label'"}, "out.jsonl");
  expect("nan.csv", "text,label\na,nan\n", {":2:", "'nan'"}, "out.jsonl");
  const std::string words = "{\"words\": [\"a\", \"b\"], \"tags\": ";
  expect("stream.jsonl", words + "[0, 1]}\n", {":1:", "tags", ".jsonl"});
  expect("no_tags.jsonl", "{\"words\": [\"a\"]}\n", {":1:", "'words'", "--tags"}, "out.jsonl");
  expect("few.jsonl", words + "[0]}\n", {":1:", "'tags'", "2 classes"}, "out.jsonl");
  expect("named.jsonl", words + "[0, \"B-PER\"]}\n", {":1:", "'tags'", "B-PER"}, "out.jsonl");
  expect("half.jsonl", words + "[0, 0.5]}\n", {":1:", "0.5"}, "out.jsonl");
  expect("below.jsonl", words + "[-1, 0]}\n", {":1:", "-1"}, "out.jsonl");
  expect("number.jsonl", "{\"words\": [\"a\", 1], \"tags\": [0, 1]}\n", {":1:", "'words'"},
         "out.jsonl");
  expect("empty.jsonl", "{\"words\": [], \"tags\": []}\n", {":1:", "'words'"}, "out.jsonl");
  expect("names.csv", "sentence,label\na,1\n", {":1:", "'text'"}, "out.jsonl");
  expect("fields.tsv", "text\tlabel\na\t1\t2\n", {":2:", "3 fields"}, "out.jsonl");
  expect("both.csv", "text,label\na,good\nb,1\n", {":3:", "'1'", "names"}, "out.jsonl");
  expect("list.csv", "text,label\na,\"[1, 'x']\"\n", {":2:", "list of numbers"}, "out.jsonl");
  expect("no_list.csv", "text,label\na,[]\n", {":2:", "'[]'"}, "out.jsonl");
  expect("alone.csv", "words,label\na,1\n", {":1:", "'words'", "--tags"}, "out.jsonl");
  expect("few.csv", "words,tags\nthe cat,1\n", {":2:", "'tags'", "2 classes"}, "out.jsonl");
  expect("named.csv", "words,tags\nthe cat,0 B-PER\n", {":2:", "'tags'", "B-PER"}, "out.jsonl");
  expect("python.csv", "words,tags\n['a'],[0]\n", {":2:", "'words'"}, "out.jsonl");
  expect("both.jsonl", "{\"input_ids\": [5], \"label\": 1, \"labels\": [0.5]}\n", {":1:", "labels"},
         "out.jsonl");
  expect("text_label.jsonl", "{\"input_ids\": [5], \"labels\": [0.5, \"a\"]}\n", {":1:", "labels"},
         "out.jsonl");
  expect("stream_number.jsonl", "{\"input_ids\": [5], \"label\": 0.5}\n",
         {":1:", "labels", ".jsonl"});
  expect("quote.csv", "text,label\n\"a,1\n", {":2:", "quote"}, "out.jsonl");
  expect("no_tokens.jsonl", "{\"text\": \"\"}\n", {":1:", "no tokens"}, "out.jsonl");
}

TEST_CASE("sentence pairs become labelled lines, from each notation the same") {
  const MadeTokenizer made(tokenizer::LearnedKind::wordpiece);
  made.folder.write("a.jsonl",
                    "{\"text\": \"the cat\", \"text_pair\": \"the \\\"rat\\\"\", \"label\": "
                    "1}\r\n{\"text\": \"mat\", \"label\": 0, \"id\": 7}\n\n");
  made.folder.write("a.csv", "label,text,text_pair\n1,the cat,\"the \"\"rat\"\"\"\n0,mat,\n");
  made.folder.write("a.tsv", "text_pair\tid\ttext\tlabel\nthe \"rat\"\t5\tthe cat\t1\n");
  std::vector<std::string> lines;
  for (const std::string name : {"a.jsonl", "a.csv", "a.tsv"}) {
    JobOptions o;
    o.inputs = {made.folder.path(name)};
    o.out = made.folder.path(name + ".out.jsonl");
    run(made, o);
    const std::string out = contents_of(o.out);
    lines.push_back(out.substr(0, out.find('\n')));
  }
  const auto sample =
      made.tokenizer->sample(made.encode("the cat"), made.encode("the \"rat\""), true);
  CHECK(lines[0].starts_with("{\"input_ids\": [2, "));
  CHECK(lines[0].ends_with("\"label\": 1}"));
  CHECK(std::ranges::count(lines[0], '1') >=
        static_cast<std::ptrdiff_t>(std::ranges::count(sample.type_ids, 1)));
  CHECK(lines[1] == lines[0]);
  CHECK(lines[2] == lines[0]);
}

TEST_CASE("labels are a class, a number or a list of numbers, kept as they are") {
  const MadeTokenizer made(tokenizer::LearnedKind::wordpiece);
  made.folder.write("a.jsonl",
                    "{\"text\": \"cat\", \"label\": 2}\n{\"text\": \"cat\", \"label\": -0.1}\n"
                    "{\"text\": \"cat\", \"label\": [0.25, 1, -3e-05]}\n");
  made.folder.write("a.csv", "text,label\ncat,2\ncat,-0.1\ncat,\"[0.25, 1, -3e-05]\"\n");
  made.folder.write("blanks.tsv", "label\ttext\n2\tcat\n-0.1\tcat\n0.25 1 -3e-05\tcat\n");
  const auto lines_of = [&](const std::string& name) {
    JobOptions o;
    o.inputs = {made.folder.path(name)};
    o.out = made.folder.path(name + ".out.jsonl");
    run(made, o);
    std::vector<nlohmann::json> out;
    std::istringstream lines(contents_of(o.out));
    for (std::string line; std::getline(lines, line);) out.push_back(nlohmann::json::parse(line));
    return out;
  };
  const auto json = lines_of("a.jsonl");
  REQUIRE(json.size() == 3);
  CHECK(json[0]["label"].is_number_integer());
  CHECK(json[0]["label"] == 2);
  CHECK(json[1]["label"] == -0.1);
  CHECK(json[2]["labels"] == nlohmann::json({0.25, 1, -3e-05}));
  CHECK_FALSE(json[2].contains("label"));
  CHECK(lines_of("a.csv") == json);
  CHECK(lines_of("blanks.tsv") == json);
}

TEST_CASE("numbers beside tokens are a sample's, integers of each token its labels") {
  const MadeTokenizer made(tokenizer::LearnedKind::wordpiece);
  const std::vector<std::string> lines{
      R"({"input_ids":[5,6,7],"label":4.5})",
      R"({"input_ids":[5,6,7],"label":-2})",
      R"({"input_ids":[5,6,7],"labels":[0.5]})",
      R"({"input_ids":[5,6,7],"labels":[0.5,1,0]})",
      R"({"input_ids":[5,6,7],"labels":[1,0]})",
      R"({"input_ids":[5,6,7],"token_type_ids":[0,1,1],"labels":[-100,6,-100]})",
      R"({"input_ids":[5,6,7]})"};
  std::string all;
  for (const std::string& line : lines) all += line + "\n";
  JobOptions o;
  o.inputs = {made.folder.write("tokens.jsonl", all)};
  o.out = made.folder.path("out.jsonl");
  CHECK(run(made, o).tokens == 21);
  std::istringstream out(contents_of(o.out));
  std::vector<std::string> got;
  for (std::string line; std::getline(out, line);)
    got.push_back(nlohmann::ordered_json::parse(line).dump());
  CHECK(got == lines);
  // a list of numbers under "label" is one of "labels"
  o.inputs = {made.folder.write("list.jsonl", R"({"input_ids": [5], "label": [1.5, 2]})"
                                              "\n")};
  o.out = made.folder.path("list.out.jsonl");
  run(made, o);
  CHECK(nlohmann::json::parse(contents_of(o.out))["labels"] == nlohmann::json({1.5, 2}));
}

TEST_CASE("words with tags are columns of lists, as JSON has them or between blanks") {
  const MadeTokenizer made(tokenizer::LearnedKind::wordpiece);
  made.folder.write("a.jsonl",
                    "{\"words\": [\"the\", \"cat\", \"1984\"], \"tags\": [0, 2, -100]}\n");
  made.folder.write(
      "a.csv", "id,words,tags\n1,\"[\"\"the\"\", \"\"cat\"\", \"\"1984\"\"]\",\"[0, 2, -100]\"\n");
  made.folder.write("a.tsv", "tags\twords\n0 2 -100\tthe cat  1984\n");
  std::vector<std::string> out;
  for (const std::string name : {"a.jsonl", "a.csv", "a.tsv"}) {
    JobOptions o;
    o.inputs = {made.folder.path(name)};
    o.out = made.folder.path(name + ".out.jsonl");
    run(made, o);
    out.push_back(contents_of(o.out));
  }
  CHECK(nlohmann::json::parse(out[0])["labels"].size() ==
        nlohmann::json::parse(out[0])["input_ids"].size());
  CHECK(out[1] == out[0]);
  CHECK(out[2] == out[0]);
}

TEST_CASE("an interrupted job goes on where it was, and begins anew where the inputs are others") {
  const auto seed = std::random_device{}();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  const MadeTokenizer made;
  const std::string text = random_text(random, 2 << 20);
  JobOptions o;
  o.inputs = {made.folder.write("a.txt", text), made.folder.write("b.txt", "the rat")};
  o.out = made.folder.path("whole.bin");
  run(made, o);
  const std::string whole = contents_of(o.out);

  o.out = made.folder.path("again.bin");
  int calls = 0;
  CHECK_THROWS_AS(run_tokenize_job(*made.tokenizer, o,
                                   [&](const JobProgress&) {
                                     if (++calls == 3) throw std::runtime_error("stopped");
                                   }),
                  std::runtime_error);
  REQUIRE_FALSE(std::filesystem::exists(o.out));
  const JobReport report = run(made, o);
  CHECK(report.parts_before == 3);
  CHECK(contents_of(o.out) == whole);
  CHECK_FALSE(std::filesystem::exists(o.out + ".parts"));

  o.out = made.folder.path("changed.bin");
  calls = 0;
  CHECK_THROWS_AS(run_tokenize_job(*made.tokenizer, o,
                                   [&](const JobProgress&) {
                                     if (++calls == 3) throw std::runtime_error("stopped");
                                   }),
                  std::runtime_error);
  made.folder.write("b.txt", "the rats");
  CHECK(run(made, o).parts_before == 0);
}

TEST_CASE("a large vocabulary makes a file of four bytes a token") {
  const data::ScratchFolder folder;
  folder.write(
      "tokenizer.json",
      R"({"model": {"type": "WordPiece", "vocab": {"[UNK]": 0, "cat": 70000}}, "pre_tokenizer": {"type": "WhitespaceSplit"}})");
  const auto tokenizer = tokenizer::open_tokenizer(folder.path());
  JobOptions o;
  o.inputs = {folder.write("a.txt", "cat dog cat")};
  o.out = folder.path("a.bin");
  run_tokenize_job(*tokenizer, o, [](const JobProgress&) {});
  CHECK(tokens_in(o.out) == Ids{70000, 0, 70000});
  CHECK(std::filesystem::file_size(o.out) == 1024 + 12);
}

}  // namespace trainx::corpus::tokenize_job_test
