// Files of a data source, and the part of them that is held out.
#include "support.hpp"
#include <algorithm>

namespace trainx::recipe::data_files_test {
namespace {

LoadedRecipe tokens(const std::string& keys, const std::vector<std::string>& overrides = {}) {
  return parse(good_batch + "data: {type: tokens, " + keys + "}\n", overrides);
}
const options::TokensOptions& source_of(const LoadedRecipe& loaded) {
  return std::get<options::TokensOptions>(loaded.recipe.data.source);
}
std::vector<std::string> problems_of_tokens(const std::string& keys) {
  return problems_of(good_batch + "data: {type: tokens, " + keys + "}\n");
}

/// One problem, at that key.
void refused(const std::string& keys, const std::string& key) {
  INFO(keys);
  const auto problems = problems_of_tokens(keys);
  REQUIRE(problems.size() == 1);
  INFO(problems.front());
  CHECK(problems.front().find(": " + key + ": ") != std::string::npos);
}

}  // namespace

TEST_CASE("files are a path, a glob or a list of these, and are written back as they were") {
  using Names = std::vector<std::string>;
  CHECK(source_of(tokens("train: a.bin")).train.names == Names{"a.bin"});
  CHECK(source_of(tokens("train: 'data/*.bin'")).train.names == Names{"data/*.bin"});
  const LoadedRecipe list =
      tokens("train: [b.bin, 'c/*.bin', \"${env:NONE:-a.bin}\"], eval: [x.bin]");
  CHECK(source_of(list).train.names == Names{"b.bin", "c/*.bin", "a.bin"});
  CHECK(source_of(list).eval->names == Names{"x.bin"});
  const std::string text = dump(list.recipe);
  CHECK(text.find("  train: [b.bin, \"c/*.bin\", a.bin]\n  eval: x.bin\n  held_out: null\n") !=
        std::string::npos);
  CHECK(dump(parse(text).recipe) == text);
  CHECK(source_of(tokens("train: a.bin", {"data.train=[c.bin, d.bin]"})).train.names ==
        Names{"c.bin", "d.bin"});
  const auto flat = flatten(tokens("train: '*.bin'").recipe);
  CHECK(std::ranges::count(flat, std::pair{std::string("data.train"), std::string("*.bin")}) == 1);
  CHECK(dump(parse(dump(tokens("train: '*.bin'").recipe)).recipe).find("*.bin") !=
        std::string::npos);
}

TEST_CASE("lists of files that cannot be are refused at their key") {
  for (const char* value : {"[]", "['']", "[a.bin, '']", "''", "{a: b}", "[3]", "[[a.bin]]"})
    refused("train: " + std::string(value), "data.train");
  refused("train: [a.bin, b.bin], eval: b.bin", "data.eval");
  refused("train: a.bin, eval: [c.bin, a.bin]", "data.eval");
  refused("train: [a.bin, b.bin], eval: [a.bin, b.bin]", "data.eval");
  refused("train: a.bin, eval: []", "data.eval");
}

TEST_CASE("a held-out part is a share or a number of samples") {
  const auto held_out = [](const std::string& value) {
    return *source_of(tokens("train: a.bin, held_out: " + value)).held_out;
  };
  CHECK(held_out("1 %").percent == 1);
  CHECK(held_out("0.5%").percent == 0.5);
  CHECK(held_out("\"2.5 %\"").percent == 2.5);
  CHECK(held_out("500 samples").samples == 500);
  CHECK(held_out("1 sample").samples == 1);
  for (const char* value : {"1 %", "0.5 %", "500 samples", "1 sample"}) {
    const std::string text = dump(tokens("train: a.bin, held_out: " + std::string(value)).recipe);
    CHECK(text.find("  held_out: " + std::string(value) + "\n") != std::string::npos);
    CHECK(dump(parse(text).recipe) == text);
  }
  for (const char* value : {"0.01", "500", "0 %", "100 %", "-1 %", "1 percent", "0 samples",
                            "1.5 samples", "'%'", "samples", "true", "[1 %]"})
    refused("train: a.bin, held_out: " + std::string(value), "data.held_out");
  refused("train: a.bin, eval: b.bin, held_out: 1 %", "data.held_out");
  CHECK(problems_of(good_batch + "data: {type: stories, held_out: 1 %}\n").size() == 1);
}

TEST_CASE("a held-out part is held-out data: evaluations have an effect") {
  CHECK(
      problems_of(
          good_batch +
          "data: {type: tokens, train: a.bin, held_out: 1 %}\neval: {every: 7 steps, batches: 3}\n")
          .empty());
  CHECK(problems_of(good_batch + "data: {type: tokens, train: a.bin}\neval: {every: 7 steps}\n")
            .size() == 1);
}

TEST_CASE("dropout is left to the folder unless it is written") {
  for (const char* type : {"gpt2", "bert"}) {
    const std::string text = good_batch + "model: {type: " + std::string(type) + ", init_from: x";
    CHECK(dump(parse(text + "}\n").recipe).find("    dropout: auto\n") != std::string::npos);
    CHECK(dump(parse(text + ", options: {dropout: 0}}\n").recipe).find("    dropout: 0\n") !=
          std::string::npos);
    CHECK(problems_of(text + ", options: {dropout: 1}}\n").size() == 1);
  }
}

}  // namespace trainx::recipe::data_files_test
