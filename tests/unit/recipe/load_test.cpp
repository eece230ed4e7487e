// Where values come from: extends, TRAINX_SET, the command line, interpolation, defaults.
#include "support.hpp"
#include <filesystem>
#include <fstream>
#include <unistd.h>

namespace trainx::recipe::load_test {
namespace {

namespace fs = std::filesystem;

/// A folder for recipes that extend one another, gone afterwards.
struct Folder {
  fs::path path =
      fs::temp_directory_path() /
      ("trainx_recipes_" +
       std::to_string(std::hash<std::string>{}(Catch::getResultCapture().getCurrentTestName())) +
       "_" + std::to_string(::getpid()));
  Folder() { fs::create_directories(path / "base"); }
  ~Folder() { fs::remove_all(path); }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path / name) << text;
    return (path / name).string();
  }
};

std::string value(const LoadedRecipe& loaded, const std::string& key) {
  for (const auto& [k, v] : flatten(loaded.recipe))
    if (k == key) return v;
  FAIL("no key " << key);
  return "";
}

Lines load_problems(const std::string& path) {
  try {
    load_recipe(path);
  } catch (const RecipeError& e) { return lines_of(e); }
  return {};
}

}  // namespace

TEST_CASE("command line over TRAINX_SET over recipe over extends over default") {
  const Folder folder;
  const std::string base =
      folder.write("base/b.yaml",
                   "run: {seed: 1}\noptimizer: {lr: 1, max_grad_norm: 1, options: {beta1: 0.1, "
                   "beta2: 0.1}}\nbatch: {global_batch_size: 8, micro_batch_size: 8}\n");
  const std::string path = folder.write(
      "r.yaml",
      "extends: [base/b.yaml]\noptimizer: {lr: 2, max_grad_norm: 2, options: {beta1: 0.2}}\n");
  LoadOptions options;
  options.environment_set =
      "optimizer.lr=3 optimizer.max_grad_norm=3\n  run.duration=3000 steps schedule.warmup=3 steps";
  options.overrides = {"optimizer.lr=4", "schedule={type: linear}"};
  const LoadedRecipe loaded = load_recipe(path, options);
  CHECK(value(loaded, "optimizer.lr") == "4");
  CHECK(value(loaded, "optimizer.max_grad_norm") == "3");
  CHECK(value(loaded, "optimizer.options.beta1") == "0.2");
  CHECK(value(loaded, "optimizer.options.beta2") == "0.1");
  CHECK(value(loaded, "optimizer.options.eps") == "1e-8");
  CHECK(value(loaded, "run.duration") == "3000 steps");
  CHECK(value(loaded, "schedule.warmup") == "3 steps");
  CHECK(value(loaded, "schedule.type") == "linear");
  CHECK(value(loaded, "run.name") == "r");
  CHECK(loaded.origins.at("optimizer.lr") == "command line");
  CHECK(loaded.origins.at("optimizer.max_grad_norm") == "TRAINX_SET");
  CHECK(loaded.origins.at("optimizer.options.beta1") == path + ":2:55");
  CHECK(loaded.origins.at("optimizer.options.beta2") == base + ":2:67");
  CHECK(loaded.origins.at("optimizer.options.eps") == "default");
  CHECK(loaded.source.starts_with("extends:"));
}

TEST_CASE("extends: later files over earlier ones, lists replaced, circles and floods refused") {
  const Folder folder;
  folder.write("a.yaml",
               "run: {seed: 1, name: a}\nbatch: {global_batch_size: 8, micro_batch_size: 8}\n");
  folder.write("b.yaml", "extends: [a.yaml]\nrun: {seed: 2}\n");
  const LoadedRecipe loaded = load_recipe(folder.write("c.yaml", "extends: [b.yaml, ./a.yaml]\n"));
  CHECK(value(loaded, "run.seed") == "1");
  CHECK(value(loaded, "run.name") == "a");
  const std::string first = folder.write("first.yaml", "extends: [second.yaml]\n");
  folder.write("second.yaml", "extends: [./base/../first.yaml]\nrun: {sead: 1}\n");
  const std::string second = (folder.path / "second.yaml").string();
  check_problems("recipe.load/circle", load_problems(first),
                 {second + ":1:11: extends: " + first + " ", second + ":2:7: run.sead: "});
  for (int i = 0; i < 20; ++i)
    folder.write(
        "n" + std::to_string(i) + ".yaml",
        "extends: [n" + std::to_string(i + 1) + ".yaml, n" + std::to_string(i + 1) + ".yaml]\n");
  folder.write("n20.yaml", "{}\n");
  const Lines flood = load_problems((folder.path / "n0.yaml").string());
  REQUIRE(flood.size() == 1);
  CHECK(flood[0].find("extends: ") != std::string::npos);
  CHECK(flood[0].find(" 64 files") != std::string::npos);
  CHECK(load_problems(
            folder.write("env.yaml", "extends: [\"${recipe_dir}/a.yaml\", \"${run.name}.yaml\"]\n"))
            .size() == 1);
}

TEST_CASE("settings from outside are checked like a recipe's") {
  const std::string r = good_batch;
  check_problems("recipe.load/optimizer_lrr_unknown_key_did", problems_of(r, {"optimizer.lrr=1"}),
                 {"command line: optimizer.lrr:"});
  check_problems("recipe.load/optimzer_unknown_key_did_you", problems_of(r, {"optimzer.lr=1"}),
                 {"command line: optimzer:"});
  check_problems("recipe.load/run_seed_must_whole_number",
                 problems_of(r, {}, "run.seed=x run.duration=10"),
                 {"TRAINX_SET: run.seed:", "TRAINX_SET: run.duration:"});
  CHECK(problems_of(r, {"optimizer"}).size() == 1);
  CHECK(problems_of(r, {"=3"}).size() == 1);
  CHECK(problems_of(r, {".lr=3", "optimizer..lr=3", "optimizer.=3"}).size() == 3);
  check_problems("recipe.load/optimizer_lr_no_value_give", problems_of(r, {"optimizer.lr="}),
                 {"command line: optimizer.lr:"});
  CHECK(problems_of(r, {"run.name=[unclosed"}).size() == 1);
  check_problems("recipe.load/optimizer_lr_must_number_not", problems_of(r, {"optimizer.lr.x=1"}),
                 {"command line: optimizer.lr:"});
  check_problems("recipe.load/extends_read_from_recipes_only", problems_of(r, {"extends=[x.yaml]"}),
                 {"command line: extends:"});
  CHECK(problems_of(r, {"run.seed=1", "run.seed=2", "x-note=3", "run.x-note=4"}).empty());
  CHECK(value(parse(r, {"run.seed=1", "run.seed=2"}), "run.seed") == "2");
  CHECK(value(parse(r, {"precision=bf16"}), "precision.compute") == "bf16");
  CHECK(value(parse(r, {"precision=fp8"}), "precision.compute") == "bf16");
  CHECK(value(parse(r, {"precision=fp8"}), "precision.products") == "fp8");
  const std::vector<std::string> compute{"precision=fp8", "precision.compute=fp32"},
      back{"precision=fp8", "precision=bf16"}, both{"precision=bf16", "precision.products=fp8"};
  CHECK(value(parse(r, compute), "precision.compute") == "fp32");
  CHECK(value(parse(r, compute), "precision.products") == "fp8");
  CHECK(value(parse(r, back), "precision.products") == "compute");
  CHECK(value(parse(r, both), "precision.products") == "fp8");
  for (const std::vector<std::string>& settings :
       {std::vector<std::string>{"precision=bf16", "precision.master=fp32"},
        {"precision.master=fp32", "precision=bf16"}}) {
    CHECK(value(parse(r, settings), "precision.compute") == "bf16");
    CHECK(value(parse(r, settings), "precision.master") == "fp32");
  }
  CHECK(value(parse(r, {"run.name=a b"}), "run.name") == "a b");
}

TEST_CASE("an override may change a type; the options of the other type are then unknown keys") {
  const std::string r = good_batch + "optimizer: {type: sgd, options: {momentum: 0.8}}\n";
  check_problems("recipe.load/optimizer_options_momentum_unknown_key",
                 problems_of(r, {"optimizer.type=adamw"}),
                 {"t.yaml:2:34: optimizer.options.momentum:"});
  const LoadedRecipe loaded = parse(good_batch + "optimizer: {type: adamw}\n",
                                    {"optimizer.type=sgd", "optimizer.options.momentum=0.5"});
  CHECK(std::get<options::SgdOptions>(loaded.recipe.optimizer.options).momentum == 0.5);
}

TEST_CASE("TRAINX_SET keeps quotes, brackets and units together") {
  const LoadedRecipe loaded =
      parse(good_batch, {},
            "  run.duration=30 steps   run.name=\"a b=c\"\n\nschedule={type: linear, warmup: 2 "
            "steps} run.seed=3\r\n");
  CHECK(value(loaded, "run.duration") == "30 steps");
  CHECK(value(loaded, "run.name") == "a b=c");
  CHECK(value(loaded, "schedule.warmup") == "2 steps");
  CHECK(value(loaded, "run.seed") == "3");
}

TEST_CASE("interpolation takes the environment, the recipe's folder and other keys") {
  LoadOptions options;
  options.environment = [](const std::string& name) -> std::optional<std::string> {
    if (name == "LR") return "3e-4";
    if (name == "EMPTY") return "";
    if (name == "TRICKY") return "${run.seed}";
    return std::nullopt;
  };
  const LoadedRecipe loaded = parse_recipe(
      "run: {name: \"s${run.seed}-${optimizer.max_grad_norm}-${optimizer.options.beta1}\", seed: "
      "\"${env:NONE:-5}\", output_dir: \"${recipe_dir}/$${x}${env:TRICKY}\"}\n"
      "optimizer: {lr: \"${env:LR}\"}\nbatch: {global_batch_size: \"${env:EMPTY:-8}\", "
      "micro_batch_size: 4}\n",
      "some/where/r.yaml", options);
  CHECK(value(loaded, "run.name") == "s5-1-0.9");
  CHECK(value(loaded, "run.seed") == "5");
  CHECK(value(loaded, "run.output_dir") == "some/where/${x}${run.seed}");
  CHECK(value(loaded, "optimizer.lr") == "3e-4");
  CHECK(value(loaded, "batch.global_batch_size") == "8");
  CHECK(flatten(parse_recipe(dump(loaded.recipe), "resolved.yaml").recipe) ==
        flatten(loaded.recipe));
}

TEST_CASE("interpolations without end, and other ones, are refused") {
  std::string growth = "x-0: \"0123456789\"\n";
  for (int i = 1; i < 60; ++i)
    growth += "x-" + std::to_string(i) + ": \"${x-" + std::to_string(i - 1) + "}${x-" +
              std::to_string(i - 1) + "}\"\n";
  const Lines lines = problems_of(good_batch + growth + "run: {name: \"${x-59}\"}\n");
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].find("grows beyond 64 KiB") != std::string::npos);
  check_problems("recipe.load/run_name_run_name_leads",
                 problems_of(good_batch + "run: {name: \"${run.name}\"}\n"),
                 {"t.yaml:2:13: run.name:"});
  CHECK(problems_of(good_batch + "run: {name: \"${run.seed\"}\n").size() == 1);
  CHECK(problems_of(good_batch + "run: {name: \"${}\"}\n").size() == 1);
  CHECK(problems_of(good_batch + "run: {name: \"${env:A:-${run.seed}}\"}\n").size() == 1);
  CHECK(problems_of(good_batch + "run: {name: \"${env:1A}\"}\n").size() == 1);
  CHECK(problems_of(good_batch + "run: {name: \"${shell command}\"}\n").size() == 1);
  CHECK(problems_of(good_batch + "x-note: \"${whatever}\"\n").empty());
}

TEST_CASE(
    "a word stands for a map where one of its keys is what is mostly meant, inside a section too; "
    "what others say of the map stays") {
  const std::string where = "memory.optimizer_offload.where",
                    folder = "memory.optimizer_offload.folder";
  CHECK(value(parse(good_batch + "memory: {optimizer_offload: cpu}\n"), where) == "cpu");
  CHECK(value(parse(good_batch, {"memory.optimizer_offload=disk"}), where) == "disk");
  CHECK(value(parse(good_batch, {"memory.optimizer_offload={where: cpu+disk, share: 0.25}"}),
              "memory.optimizer_offload.share") == "0.25");
  const Folder files;
  files.write(
      "b.yaml",
      good_batch + "memory: {optimizer_offload: {where: disk, folder: /scratch, read_ahead: 3}}\n");
  const LoadedRecipe loaded = load_recipe(
      files.write("r.yaml", "extends: [b.yaml]\nmemory: {optimizer_offload: cpu+disk}\n"));
  CHECK(value(loaded, where) == "cpu+disk");
  CHECK(value(loaded, folder) == "/scratch");
  CHECK(value(loaded, "memory.optimizer_offload.read_ahead") == "3");
  const auto problem = [](const std::string& offload) {
    return problems_of(good_batch + "memory: {optimizer_offload: " + offload + "}\n");
  };
  CHECK(problem("gpu").size() == 1);
  CHECK(problem("[cpu]").size() == 1);
  check_problems("recipe.load/memory_optimizer_offload_folder_can",
                 problem("{where: cpu, folder: /x}"),
                 {"t.yaml:2:50: memory.optimizer_offload.folder:"});
  CHECK(problem("{where: disk, read_ahead: 0}").size() == 1);
  CHECK(value(parse(good_batch, {"memory.optimizer_offload={where: cpu, gradients: bf16}"}),
              "memory.optimizer_offload.gradients") == "bf16");
  check_problems("recipe.load/memory_optimizer_offload_gradients_can", problem("{gradients: bf16}"),
                 {"t.yaml:2:41: memory.optimizer_offload.gradients:"});
  CHECK(problem("{where: cpu, gradients: fp16}").size() == 1);
}

TEST_CASE("a key as it was called before is read under its name of today") {
  const std::string full = good_batch + "memory: {activation_checkpoint: full, ";
  CHECK(value(parse(full + "checkpoint_segment: 2}\n"), "memory.recompute_segment") == "2");
  CHECK(value(parse(full + "recompute_segment: 2}\n", {"memory.checkpoint_segment=3"}),
              "memory.recompute_segment") == "3");
  check_problems("recipe.load/former_key_beside_the_one_of_today",
                 problems_of(full + "recompute_segment: 2, checkpoint_segment: 3}\n"),
                 {"t.yaml:2:61: memory.checkpoint_segment:"});
}

}  // namespace trainx::recipe::load_test
