#include "corpus/tokenize_job.hpp"
#include "corpus/train_vocabulary.hpp"
#include "made_tokenizer.hpp"
#include "unit/data/expect_user_error.hpp"
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <random>

namespace trainx::corpus::json_array_test {
namespace {

using nlohmann::json;

std::string contents_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

JobReport run(const MadeTokenizer& made, const std::string& input, const std::string& out,
              int threads = 1, const std::string& format = "") {
  JobOptions o;
  o.inputs = {input};
  o.out = out;
  o.choice.format = format;
  o.threads = threads;
  o.output.end_of_text = 0;
  return run_tokenize_job(*made.tokenizer, o, [](const JobProgress&) {});
}

}  // namespace

TEST_CASE("a JSON array has the tokens of the same records as lines, in one part or in many") {
  const auto seed = std::random_device{}();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  const MadeTokenizer made;
  // Records of all sizes, one longer than a part; strings with brackets, quotes and escapes.
  json array = json::array();
  std::string lines;
  for (int i = 0; i < 3000; ++i) {
    std::string text = i == 1500 ? std::string(600 << 10, 'c') : "the cat ]}\"{[\\ sat\n";
    for (unsigned k = random() % 40; k > 0; --k) text += " on the mat,";
    array.push_back({{"id", i}, {"text", text}, {"more", {{"nested", {1, 2}}}}});
    lines += array.back().dump() + "\n";
  }
  run(made, made.folder.write("lines.jsonl", lines), made.folder.path("lines.bin"));
  const std::string want = contents_of(made.folder.path("lines.bin"));
  int n = 0;
  for (const auto& [name, indent] : {std::pair{"one_line.json", -1}, std::pair{"indented.json", 2},
                                     std::pair{"misnamed.jsonl", 0}}) {
    const std::string out = made.folder.path("out" + std::to_string(++n) + ".bin");
    const JobReport report =
        run(made, made.folder.write(name, "\xEF\xBB\xBF " + array.dump(indent) + "\n"), out,
            1 + n % 2 * 2);
    INFO(name);
    CHECK(report.documents == 3000);
    CHECK(report.parts > 1);
    CHECK(contents_of(out) == want);
  }
  // Lines in a file called .json, and samples instead of a stream.
  run(made, made.folder.write("lines.json", lines), made.folder.path("lines2.bin"));
  CHECK(contents_of(made.folder.path("lines2.bin")) == want);
  run(made, made.folder.path("lines.jsonl"), made.folder.path("samples_of_lines.jsonl"));
  run(made, made.folder.path("indented.json"), made.folder.path("samples_of_array.jsonl"));
  CHECK(contents_of(made.folder.path("samples_of_array.jsonl")) ==
        contents_of(made.folder.path("samples_of_lines.jsonl")));
}

TEST_CASE("a vocabulary is learned from the texts of a JSON array, not from its braces") {
  const MadeTokenizer made;
  const auto learn = [&](const std::string& name, const std::string& contents) {
    VocabularyOptions o;
    o.inputs = {made.folder.write(name, contents)};
    o.vocab_size = 270;
    return train_vocabulary(o);
  };
  CHECK(learn("a.json", R"([{"text": "the cat sat"}, {"text": "the rat"}])") ==
        learn("a.jsonl", "{\"text\": \"the cat sat\"}\n{\"text\": \"the rat\"}\n"));
}

TEST_CASE("JSON that is neither an array of objects nor lines is refused with what it is") {
  const MadeTokenizer made;
  const auto expect = [&](const std::string& contents, const std::vector<std::string>& parts) {
    const std::string path = made.folder.write("a.json", contents);
    std::vector<std::string> all{path};
    all.insert(all.end(), parts.begin(), parts.end());
    INFO(contents);
    data::expect_user_error(ExitCode::bad_data, all,
                            [&] { run(made, path, made.folder.path("out.bin")); });
  };
  expect("{\n \"version\": 1,\n \"data\": []\n}\n", {"'version'", "--format text"});
  expect("once upon a time", {"--format text"});
  expect("[]", {"empty array"});
  expect("[1, 2]", {":1:", "record 1", "number"});
  expect("[{\"text\": \"a\"},\n{\"text\": 1}]", {":2:", "record 2", "'text'"});
  expect("[{\"text\": \"a\"},\n{\"text\": tru}]", {":2:", "record 2", "byte"});
  expect("[{\"text\": \"a\"}", {"record 2"});
  expect("[{\"text\": \"a\"}]]", {":1:"});
  expect(R"([{"instruction": "do", "input": "", "output": "done"}])",
         {"record 1", "answer", ".jsonl"});
  expect(R"([{"conversations": 1}])", {"'conversations'"});
  expect(R"([{"messages": []}])", {"record 1", ".jsonl"});
  expect(R"([{"sentence": "a"}])", {"'sentence'", "--text"});
  // As text where that is asked for.
  CHECK(run(made, made.folder.write("b.json", "{\n}"), made.folder.path("b.bin"), 1, "text")
            .documents == 1);
}

TEST_CASE("archives and tables are named") {
  const MadeTokenizer made;
  data::expect_user_error(ExitCode::bad_data, {"a.parquet", "neither"}, [&] {
    run(made, made.folder.write("a.parquet", "text"), made.folder.path("out.bin"), 1, "parquet");
  });
  data::expect_user_error(ExitCode::bad_data, {"a.jsonl.xz", "unxz"}, [&] {
    run(made,
        made.folder.write("a.jsonl.xz", std::string("\xfd"
                                                    "7zXZ\0...",
                                                    10)),
        made.folder.path("out.bin"));
  });
  data::expect_user_error(ExitCode::bad_data, {"a.jsonl.gz", "gzip"}, [&] {
    run(made, made.folder.write("a.jsonl.gz", "\x1f\x8b\x08..."), made.folder.path("out.bin"));
  });
}

}  // namespace trainx::corpus::json_array_test
