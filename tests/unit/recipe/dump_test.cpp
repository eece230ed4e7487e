#include "recipe/schema.hpp"
#include "support.hpp"
#include <cstring>
#include <random>
#include <set>
#include <sstream>

namespace trainx::recipe::dump_test {

TEST_CASE("a dump is the whole recipe, in schema order") {
  const LoadedRecipe loaded =
      parse(good_batch +
            "run: {name: 'on', output_dir: 'a: b'}\nmodel: {init_from: 'null'}\noptimizer: {type: "
            "sgd, lr: 3e-4}\nmemory: {budget: 512 MiB}\n");
  const std::string text = dump(loaded.recipe);
  CHECK(text.starts_with(
      "run:\n  name: \"on\"\n  seed: 42\n  duration: 1000 steps\n  output_dir: \"a: b\"\n  "
      "deterministic: false\n  device: auto\n  execution: auto\n  hang_limit: 1 min\n"
      "model:\n  type: gpt2\n  size: null\n  init_from: \"null\"\n  attention: auto\n  options:\n  "
      "  num_layers: null\n"));
  CHECK(text.find(
            "optimizer:\n  type: sgd\n  lr: 3e-4\n  max_grad_norm: 1\n  update_in_backward: "
            "false\n  ema_decay: null\n  "
            "options:\n    momentum: 0\n    nesterov: false\n    weight_decay: 0\nschedule:\n") !=
        std::string::npos);
  CHECK(text.find("memory:\n  budget: 512 MiB\n  activation_checkpoint: none\n") !=
        std::string::npos);
  CHECK(flatten(parse(text).recipe) == flatten(loaded.recipe));
}

TEST_CASE("with origins every value says where it came from, in one column") {
  const LoadedRecipe loaded = parse(good_batch + "optimizer: {lr: 3e-4}\n", {"run.seed=3"});
  std::istringstream lines(dump(loaded.recipe, &loaded.origins));
  std::set<std::size_t> columns;  // of the '#'
  std::map<std::string, std::string> origins;
  for (std::string line; std::getline(lines, line);) {
    if (line.ends_with(":")) continue;
    const std::size_t hash = line.find("# ");
    REQUIRE(hash != std::string::npos);
    columns.insert(hash);
    origins[line.substr(0, line.find_last_not_of(' ', hash - 1) + 1)] = line.substr(hash + 2);
  }
  CHECK(columns.size() == 1);
  CHECK(origins.at("  lr: 3e-4") == "t.yaml:2:17");
  CHECK(origins.at("  seed: 3") == "command line");
  CHECK(origins.at("  name: t") == "default");
}

TEST_CASE("any text, number and quantity survives a dump") {
  const auto seed = std::random_device{}();
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  const std::string texts[] = {
      "null",  "~",     "true",        "yes",  "Off",  "010",  "1e3",        "0x1F",
      "1_000", "12:30", "2001-01-01",  ".inf", "-",    "a: b", "a #b",       "#a",
      " a",    "a ",    "'",           "\"",   "\\",   "*a",   "&a",         "!a",
      "%a",    "@a",    "`a",          "{a",   "[a",   "a,b",  "?",          "? a",
      "- a",   "...",   "---",         "|",    ">",    "<<",   "${a}",       "$${a}",
      "$$${",  "$",     "a\nb",        "a\tb", "\x01", "\x7F", "k\xC3\xA9y", "\xF0\x9F\x98\x80",
      "auto",  "none",  "a/b.c-d_e+f", "1a",   "=",    "x=y",  "\\n"};
  Recipe recipe = parse(good_batch).recipe;
  recipe.run.name = "x";
  for (int round = 0; round < 600; ++round) {
    std::string text = texts[random() % std::size(texts)];
    if (round >= static_cast<int>(std::size(texts)))
      text += texts[random() % std::size(texts)];
    else
      text = texts[round];
    double number = 0;
    do {
      const std::uint64_t bits = random();
      std::memcpy(&number, &bits, 8);
    } while (!std::isfinite(number));
    recipe.run.output_dir = text;
    recipe.model.init_from = round % 3 ? std::optional<std::string>(text) : std::nullopt;
    recipe.optimizer.lr = std::abs(number);
    recipe.run.seed = static_cast<std::int64_t>(random() >> (11 + random() % 50));
    recipe.run.duration = {1 + static_cast<double>(random() >> (12 + random() % 50)),
                           round % 2 ? Duration::Unit::tokens : Duration::Unit::epochs};
    const std::string dumped = dump(recipe);
    INFO(dumped);
    const Recipe again = parse(dumped).recipe;
    REQUIRE(flatten(again) == flatten(recipe));
    REQUIRE(again.optimizer.lr == recipe.optimizer.lr);
    REQUIRE(again.model.init_from == recipe.model.init_from);
    REQUIRE(dump(again) == dumped);
  }
}

TEST_CASE("no bytes crash the reader of recipes") {
  const auto seed = std::random_device{}();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  const std::string whole = dump(parse(good_batch).recipe);
  for (int round = 0; round < 1500; ++round) {
    std::string text = whole;
    const std::size_t edits = 1 + random() % 4;
    for (std::size_t i = 0; i < edits; ++i) {
      const std::size_t at = random() % text.size();
      if (random() % 3 == 0)
        text.erase(at, 1 + random() % 20);
      else if (random() % 2)
        text[at] = static_cast<char>(random() & 0xFF);
      else
        text.insert(at, std::string(1, "\"'{}[]:,-#&*!|>?%@\n\t$~"[random() % 23]));
    }
    INFO(text);
    try {
      const Recipe recipe = parse(text).recipe;
      REQUIRE(flatten(parse(dump(recipe)).recipe) == flatten(recipe));
    } catch (const RecipeError& e) { REQUIRE_FALSE(e.problems().empty()); }
  }
}

TEST_CASE("recipes to start from are good ones, and their comments are the defaults") {
  REQUIRE(init_names().size() == 5);
  for (const auto& [name, purpose] : init_names()) {
    INFO(name);
    const std::string text = commented_recipe(name);
    const Recipe recipe = parse(text).recipe;
    // With every comment that is a key taken in, it is the same recipe.
    std::string opened;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      const bool key = line.starts_with("# ") && line.find(':') != std::string::npos &&
                       line.find(": ", 2) < line.find("  #") && !line.starts_with("# $ ") &&
                       !line.starts_with("# It needs") && !line.starts_with("# A commented") &&
                       !line.starts_with("# " + purpose);
      opened += (key || (line.starts_with("# ") && line.ends_with(":")) ? line.substr(2) : line) +
                "\n";
    }
    INFO(opened);
    CHECK(flatten(parse(opened).recipe) == flatten(recipe));
    CHECK(opened.find("\n#   ") == std::string::npos);
    std::istringstream written(text);
    for (std::string line; std::getline(written, line);)
      if (!line.starts_with("# ")) CHECK(line.size() <= 120);
  }
  CHECK_THROWS_AS(commented_recipe("nothing"), UserError);
}

TEST_CASE("help knows every key of every type, and nothing else") {
  std::set<std::string> keys;
  for (const FieldHelp& field : schema_keys()) {
    INFO(field.key);
    CHECK_FALSE(field.doc.empty());
    CHECK_FALSE(field.type.empty());
    keys.insert(field.key);
  }
  CHECK(keys.contains("optimizer.options.nesterov"));
  CHECK(keys.contains("optimizer.options.beta1"));
  for (const auto& [key, value] : flatten(
           parse(good_batch + "optimizer: {type: sgd}\ndata: {type: tokens, train: x}\n").recipe))
    CHECK(keys.contains(key));
  CHECK(list_alternatives("optimizers").size() ==
        std::variant_size_v<options::OptimizerOptions> - 1);  // without a worker
  CHECK(list_alternatives("schedules").size() == std::variant_size_v<options::ScheduleOptions> - 1);
  CHECK(list_alternatives("nothing").empty());
}

}  // namespace trainx::recipe::dump_test
