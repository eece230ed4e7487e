// Recipes of models that are known only when the program runs.
#include "core/files.hpp"
#include "recipe/recipe.hpp"
#include "recipe/resolved.hpp"
#include "recipe/schema.hpp"
#include "recipe/value.hpp"
#include "recipe/walk.hpp"
#include "architectures/custom_json.hpp"
#include "support/catch.hpp"
#include "support/golden.hpp"
#include "support/temporary_folder.hpp"
#include <nlohmann/json.hpp>

namespace described_model_test {

using namespace trainx;

namespace {

struct Described {
  Described() {
    options::CustomOptions mixer{"mixer",
                                 "a mixer",
                                 {{"vocab_size", std::int64_t{0}, non_negative(), "tokens"},
                                  {"wide", true, {}, "or not"},
                                  {"rate", 0.5, unit_interval(), "of what"},
                                  {"path", std::string(), {}, "a file"},
                                  {"activation", Choice{"gelu", {"relu", "gelu"}}, {}, "which"}}};
    // As a worker's answer arrives.
    options::set_described_models({architectures::custom_options_from_json(
        nlohmann::json::parse(architectures::to_json(mixer).dump()))});
  }
  ~Described() { options::set_described_models({}); }
};

std::string recipe_with(const std::string& options) {
  return "run: {name: a}\nmodel: {type: mixer, options: {" + options +
         "}}\ndata: {type: stories}\nbatch: {global_batch_size: 2, micro_batch_size: 1}\n";
}
recipe::LoadedRecipe read(const std::string& text) { return recipe::parse_recipe(text, "r.yaml"); }

}  // namespace

TEST_CASE("options of a described model are read, with their defaults, and written back") {
  const Described described;
  const auto loaded = read(recipe_with("path: x, rate: 0.25, activation: relu"));
  const auto& options = std::get<options::CustomOptions>(loaded.recipe.model.options);
  CHECK(std::get<double>(options.find("rate")->value) == 0.25);
  CHECK(std::get<bool>(options.find("wide")->value));
  CHECK(std::get<Choice>(options.find("activation")->value).word == "relu");
  CHECK(loaded.origins.at("model.options.rate") == "r.yaml:2:47");
  const std::string text = recipe::dump(loaded.recipe);
  CHECK(recipe::dump(read(text).recipe) == text);
  CHECK(recipe::list_alternatives("models").back() ==
        std::pair<std::string, std::string>("mixer", "a mixer"));
}

TEST_CASE("what is wrong with them is told with its place") {
  const Described described;
  const auto told = [](const std::string& text) { return user_error_of([&] { read(text); }); };
  const auto has = [](const std::string& text, const std::string& part) {
    INFO(text);
    CHECK(text.find(part) != std::string::npos);
  };
  const std::string all =
      told(recipe_with("wid: true, rate: 2, activation: gleu, vocab_size: many"));
  has(all, "r.yaml:2:");
  has(all, "model.options.wid: unknown key (did you mean 'wide'?)");
  has(all, "model.options.rate: must be at least 0 and less than 1, not 2");
  has(all,
      "model.options.activation: must be one of relu, gelu, not 'gleu' (did you mean 'gelu'?)");
  has(all, "model.options.vocab_size: must be a whole number");
  has(all, "model.options.path: is missing: a file");
  has(told(recipe_with("path: x, num_heads: 2")),
      "unknown key of type mixer (it belongs to type gpt2");
  has(told(recipe_with("path: x") + "memory: {activation_checkpoint: mlp}\n"),
      "memory.activation_checkpoint");
  // whether modules are cheap their worker says
  CHECK_NOTHROW(read(recipe_with("path: x") + "memory: {activation_checkpoint: selective}\n"));
}

TEST_CASE("without its worker a model is unknown, and its options are nobody's") {
  const std::string told = user_error_of([] { read(recipe_with("path: x")); });
  check_error("recipe.described_model/no_such_model", 78, told);
}

TEST_CASE("what a run of such a model wrote is unknown without its worker, not damaged") {
  const TemporaryFolder folder;
  const std::string path = folder / "resolved.yaml";
  {
    const Described described;
    write_file_atomic(path, recipe::resolved_text(read(recipe_with("path: x")).recipe));
    CHECK_NOTHROW(recipe::read_resolved(path));
  }
  const auto code = [&] {
    return user_error_of([&] { recipe::read_resolved(path); }).substr(0, 2);
  };
  CHECK(code() == "78");
  write_file_atomic(path, read_file(path, 1 << 20) + "#");
  CHECK(code() == "65");
}

TEST_CASE("descriptions that cannot be used are refused") {
  const auto problem = [](std::vector<options::CustomOptions> models) {
    return options::check_description(models, {"gpt2"});
  };
  CHECK(problem({{"a", "", {}}, {"b", "", {}}}).empty());
  check_sentence("recipe.described_model/there_two_models",
                 problem({{"a", "", {}}, {"a", "", {}}}));
  check_sentence("recipe.described_model/there_two_models_2", problem({{"gpt2", "", {}}}));
  CHECK_FALSE(problem({{"a b", "", {}}}).empty());
  CHECK_FALSE(problem({{"a", "", {{"k", true, {}, ""}, {"k", true, {}, ""}}}}).empty());
  CHECK_FALSE(problem({{"a", "", {{"vocab_size", 1.0, {}, ""}}}}).empty());
  CHECK_FALSE(problem({{"a", "", {{"task", Choice{"sing", {"sing"}}, {}, ""}}}}).empty());
  CHECK(problem({{"a",
                  "",
                  {{"task", Choice{"classification", {"classification", "causal_lm"}}, {}, ""}}}})
            .empty());
}

}  // namespace described_model_test
