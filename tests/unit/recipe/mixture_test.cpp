// Lists of typed maps, and the lengths to which rows are padded.
#include "recipe/schema.hpp"
#include "support.hpp"
#include <algorithm>

namespace trainx::recipe::mixture_test {
namespace {

const std::string mixture = good_batch +
                            "data:\n"
                            "  type: mixture\n"
                            "  sources:\n"
                            "    - {weight: 0.7, type: jsonl, train: a.jsonl}\n"
                            "    - {type: stories, samples: 10}\n";

std::vector<std::int64_t> lengths_of(const std::string& data) {
  return row_lengths(parse(good_batch + "data: {" + data + "}\n").recipe.data);
}

}  // namespace

TEST_CASE("the entries of a mixture are read, written and say where they came from") {
  const LoadedRecipe loaded = parse(mixture);
  const auto& sources = std::get<options::MixtureOptions>(loaded.recipe.data.source).sources;
  REQUIRE(sources.size() == 2);
  CHECK(sources[0].weight == 0.7);
  CHECK(std::get<options::JsonlOptions>(sources[0].source).train == "a.jsonl");
  CHECK(sources[1].weight == 1);
  CHECK(std::get<options::StoriesOptions>(sources[1].source).samples == 10);
  const std::string text = dump(loaded.recipe);
  CHECK(text.find("data:\n  type: mixture\n  sources:\n"
                  "    - weight: 0.7\n      type: jsonl\n      train: a.jsonl\n      eval: null\n  "
                  "    held_out: null\n      truncate: false\n      packed: false\n"
                  "    - weight: 1\n      type: stories\n      samples: 10\n      eval_samples: "
                  "256\n  sequence_length: 128\n") != std::string::npos);
  CHECK(dump(parse(text).recipe) == text);
  CHECK(dump(parse(dump(loaded.recipe, &loaded.origins)).recipe) == text);
  CHECK(loaded.origins.at("data.sources[0].train") == "t.yaml:5:41");
  CHECK(loaded.origins.at("data.sources[1].weight") == "default");
  const auto flat = flatten(loaded.recipe);
  CHECK(std::find(flat.begin(), flat.end(),
                  std::pair{std::string("data.sources[1].samples"), std::string("10")}) !=
        flat.end());
}

TEST_CASE(
    "settings replace a mixture's list as a whole, and defaults of its entries are no "
    "interpolations") {
  const Recipe recipe = parse(mixture, {"data.sources=[{type: csv, train: b.csv}]"}).recipe;
  CHECK(std::get<options::MixtureOptions>(recipe.data.source).sources.size() == 1);
  CHECK(problems_of(mixture, {"data.sources[0].weight=2"}).size() == 1);
  check_problems("recipe.mixture/data_sources_train_environment_variable",
                 problems_of(mixture, {"data.sources=[{type: csv, train: '${env:NOWHERE}'}]"}),
                 {"command line: data.sources[0].train:"});
}

TEST_CASE(
    "a key of a mixture's entry that belongs to another type says so, and a list of broken values "
    "is told once") {
  check_problems(
      "recipe.mixture/data_sources_train_unknown_key",
      problems_of(good_batch + "data: {type: mixture, sources: [{type: stories, train: x}]}\n"),
      {"t.yaml:2:49: data.sources[0].train:"});
  check_problems("recipe.mixture/data_sources_unknown_key_type",
                 problems_of(good_batch + "data: {sources: []}\n"), {"t.yaml:2:8: data.sources:"});
  CHECK(problems_of(good_batch + "data: {type: jsonl, train: x, pad_to: ['${env:A}', 128]}\n")
            .size() == 1);
  CHECK(problems_of(good_batch + "data: {type: mixture, sources: ~}\n").size() == 1);
}

TEST_CASE("help has a mixture's own keys, and each type's keys once") {
  const auto has = [](const std::string& key) {
    return std::count_if(schema_keys().begin(), schema_keys().end(),
                         [&](const FieldHelp& field) { return field.key == key; });
  };
  CHECK(has("data.sources") == 1);
  CHECK(has("data.sources[].weight") == 1);
  CHECK(has("data.sources[].type") == 1);
  CHECK(has("data.sources[].train") == 0);
  CHECK(list_alternatives("data").size() == 6);
}

TEST_CASE("rows are padded to sequence_length at most") {
  using Lengths = std::vector<std::int64_t>;
  CHECK(lengths_of("type: stories, sequence_length: 100") == Lengths{100});
  CHECK(lengths_of("type: stories, sequence_length: 100, pad_to: 100") == Lengths{100});
  CHECK(lengths_of("type: jsonl, train: x, sequence_length: 512") ==
        Lengths{32, 64, 128, 256, 512});
  CHECK(lengths_of("type: jsonl, train: x, sequence_length: 100") == Lengths{32, 64, 100});
  CHECK(lengths_of("type: jsonl, train: x, sequence_length: 32") == Lengths{32});
  CHECK(lengths_of("type: csv, train: x, sequence_length: 7") == Lengths{7});
  CHECK(lengths_of("type: csv, train: x, sequence_length: 100, pad_to: [10, 100]") ==
        Lengths{10, 100});
  CHECK(lengths_of("type: mixture, sequence_length: 100, sources: [{type: stories}]") ==
        Lengths{100});
  CHECK(lengths_of("type: mixture, sequence_length: 40, sources: [{type: stories}, {type: jsonl, "
                   "train: x}]") == Lengths{32, 40});
  CHECK(problems_of(good_batch + "data: {type: jsonl, train: x, pad_to: [0, 128]}\n").size() == 1);
  CHECK(problems_of(good_batch + "data: {type: jsonl, train: x, pad_to: []}\n").size() == 1);
  CHECK(problems_of(good_batch + "data: {type: jsonl, train: x, pad_to: [64, 64, 128]}\n").size() ==
        1);
}

}  // namespace trainx::recipe::mixture_test
