#include "corpus/label_names.hpp"
#include "data/files/about_file.hpp"
#include "corpus/tokenize_job.hpp"
#include "made_tokenizer.hpp"
#include "unit/data/expect_user_error.hpp"
#include <fstream>
#include <nlohmann/json.hpp>

namespace trainx::corpus::label_names_test {
namespace {

using nlohmann::json;
using Names = std::vector<std::string>;

struct Tokenized {
  std::vector<json> lines;
  JobReport report;
};

Tokenized run(const MadeTokenizer& made, const std::string& name, const std::string& contents,
              const LabelNames& labels = {}) {
  JobOptions o;
  o.inputs = {made.folder.write(name, contents)};
  o.out = made.folder.path("out.jsonl");
  o.overwrite = true;
  o.threads = 2;
  o.labels = labels;
  Tokenized out;
  out.report = run_tokenize_job(*made.tokenizer, o, [](const JobProgress&) {});
  std::ifstream file(o.out);
  for (std::string line; std::getline(file, line);) out.lines.push_back(json::parse(line));
  return out;
}

}  // namespace

TEST_CASE("names of classes become numbers, sorted, and are kept beside the file") {
  const MadeTokenizer made;
  for (const auto& [name, contents] :
       {std::pair{"a.jsonl",
                  "{\"text\": \"the cat\", \"label\": \"negative\"}\n"
                  "{\"text\": \"the\", \"label\": \"b c\"}\n"
                  "{\"text\": \"rat\", \"label\": \"positive\"}\n"},
        std::pair{"a.csv", "text,label\nthe cat,negative\nthe,b c\nrat,positive\n"}}) {
    INFO(name);
    const Tokenized found = run(made, name, contents);
    REQUIRE(found.lines.size() == 3);
    CHECK(found.lines[0]["label"] == 1);
    CHECK(found.lines[1]["label"] == 0);
    CHECK(found.lines[2]["label"] == 2);
    CHECK(found.report.label_names == Names{"b c", "negative", "positive"});
    CHECK(data::read_about(made.folder.path("out.jsonl")).label_names == found.report.label_names);
  }
  // those of an earlier file, in its order
  const LabelNames same = named_labels(made.folder.path("out.jsonl"));
  CHECK(run(made, "b.csv", "text,label\nrat,positive\n", same).lines[0]["label"] == 2);
  const LabelNames given = named_labels("positive,negative");
  CHECK(run(made, "b.csv", "text,label\nrat,positive\n", given).lines[0]["label"] == 0);
  data::expect_user_error(ExitCode::bad_data, {"c.csv:2", "'positiv'", "positive"},
                          [&] { run(made, "c.csv", "text,label\nrat,positiv\n", given); });
  // numbers stay what they are, 1.0 is 1, and numbers written as text are in their own order
  const Tokenized numbers = run(made, "n.csv", "text,label\nthe,1.0\nrat,4.5\n");
  CHECK(numbers.lines[0]["label"].is_number_integer());
  CHECK(numbers.lines[1]["label"] == 4.5);
  CHECK(numbers.report.label_names.empty());
  CHECK(run(made, "t.jsonl",
            "{\"text\": \"a\", \"label\": \"10\"}\n{\"text\": \"a\", \"label\": \"9\"}\n")
            .report.label_names == Names{"9", "10"});
  for (const char* names : {"a,", "a,a", ""})
    data::expect_user_error(ExitCode::usage, {"--label-names"}, [&] { named_labels(names); });
}

TEST_CASE("names of tags become numbers; other words of a tag keep -100") {
  const MadeTokenizer made;
  const Tokenized found = run(made, "w.jsonl",
                              "{\"words\": [\"the\", \"cat\"], \"tags\": [\"O\", \"B-PER\"]}\n"
                              "{\"words\": [\"rat\"], \"tags\": [\"O\"]}\n");
  CHECK(found.report.label_names == Names{"B-PER", "O"});
  std::vector<std::int64_t> tags;
  for (const auto& label : found.lines[0]["labels"])
    if (label != -100) tags.push_back(label);
  CHECK(tags == std::vector<std::int64_t>{1, 0});
}

TEST_CASE("names and numbers do not mix, and names come in the first part or are given") {
  const MadeTokenizer made;
  data::expect_user_error(ExitCode::bad_data, {"m.csv:3", "'2'"},
                          [&] { run(made, "m.csv", "text,label\na,x\nb,2\n"); });
  std::string late;
  for (int i = 0; i < 40'000; ++i) late += "{\"text\": \"the\", \"label\": 1}\n";
  data::expect_user_error(ExitCode::bad_data, {"l.jsonl:40001", "--label-names"}, [&] {
    run(made, "l.jsonl", late + "{\"text\": \"the\", \"label\": \"x\"}\n");
  });
}

TEST_CASE("of several files each is told what is wrong with it, and nothing is left behind") {
  const MadeTokenizer made;
  JobOptions o;
  o.inputs = {made.folder.write("a.jsonl", "{\"text\": \"a\"}\n{\"text\": 1}\n"),
              made.folder.write("b.jsonl", "{\"text\": \"a\"}\n"),
              made.folder.write("c.csv", "text,label\na,1,2\n")};
  o.out = made.folder.path("out.jsonl");
  const auto job = [&] { run_tokenize_job(*made.tokenizer, o, [](const JobProgress&) {}); };
  data::expect_user_error(ExitCode::bad_data, {"a.jsonl:2", "c.csv:2"}, job);
  CHECK_FALSE(std::filesystem::exists(o.out));
  CHECK_FALSE(std::filesystem::exists(o.out + ".parts"));
  // before anything is read: files that cannot be read at all
  o.inputs = {made.folder.path("none"),
              made.folder.write("d.xz", std::string("\xfd"
                                                    "7zXZ\0",
                                                    6)),
              made.folder.write("e.jsonl", "no json")};
  data::expect_user_error(ExitCode::input_missing, {"none", "d.xz"}, job);
}

TEST_CASE("a field beside a text that may be meant for its label is not left out of a sample") {
  const MadeTokenizer made;
  for (const char* name : {"labels", "Label", "lable", "loss_mask", "sample_weight"}) {
    INFO(name);
    const std::string key(name);
    data::expect_user_error(ExitCode::bad_data, {"a.jsonl:1", key, "--label"}, [&] {
      run(made, "a.jsonl", "{\"text\": \"the\", \"" + key + "\": 1}\n");
    });
    data::expect_user_error(ExitCode::bad_data, {"a.csv:2", key, "--label"},
                            [&] { run(made, "a.csv", "text," + key + "\nthe,1\n"); });
  }
  // beside the label itself, of no value, or of another meaning
  CHECK(run(made, "a.jsonl",
            "{\"text\": \"the\", \"label\": 1, \"labels\": null, \"id\": 3, \"tables\": 1}\n")
            .lines[0]["label"] == 1);
}

TEST_CASE("samples that teach nothing are counted, and refused where there are no others") {
  const MadeTokenizer made;
  const std::string taught = "{\"input_ids\": [1, 2], \"labels\": [-100, 2]}\n",
                    not_taught = "{\"input_ids\": [1, 2], \"labels\": [-100, -100]}\n";
  CHECK(run(made, "a.jsonl", taught + not_taught).report.without_target == 1);
  data::expect_user_error(ExitCode::bad_data, {"2 samples", "target"},
                          [&] { run(made, "a.jsonl", not_taught + not_taught); });
  const std::string masked = "{\"input_ids\": [1, 2, 3], \"loss_mask\": [0, 0, 1]}\n";
  CHECK(run(made, "m.jsonl", masked).lines[0]["labels"] == json{-100, -100, 3});
}

TEST_CASE("csv has the same records in one part or in many, with line ends in its fields") {
  const MadeTokenizer made;
  std::string csv = "\xEF\xBB\xBFtext,label\r\n", lines;
  for (int i = 0; i < 30'000; ++i) {
    const std::string text = i % 3 ? "the cat" : "the\ncat, \"sat\"\n";
    csv += i % 3 ? text : "\"the\ncat, \"\"sat\"\"\n\"";
    csv += "," + std::to_string(i % 2) + "\r\n";
    if (i % 1000 == 0) csv += "\r\n";
    lines += json{{"text", text}, {"label", i % 2}}.dump() + "\n";
  }
  const Tokenized found = run(made, "a.csv", csv);
  CHECK(found.report.parts > 1);
  const Tokenized want = run(made, "a.jsonl", lines);
  CHECK(found.lines == want.lines);
}

}  // namespace trainx::corpus::label_names_test
