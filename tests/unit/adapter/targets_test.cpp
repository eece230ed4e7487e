#include "adapter/targets.hpp"
#include "unit/adapter/small_models.hpp"
#include "support/catch.hpp"
#include "support/user_error.hpp"
#include <algorithm>

namespace targets_test {

using namespace trainx;
using namespace trainx::adapter;
using namespace trainx::adapter::testing;

namespace {

using Names = std::vector<std::string>;

Names adapted(const Chosen& chosen, const std::vector<Module>& modules) {
  Names names;
  for (const Target& target : chosen.adapted) names.push_back(modules[target.module].name);
  return names;
}

Names adapted(const Config& config, const std::vector<Module>& modules,
              const std::string& type = "llama") {
  return adapted(choose_targets(config, modules, type), modules);
}

std::string refusal(const Config& config, const std::vector<Module>& modules,
                    const std::string& type = "llama") {
  return user_error_of([&] { choose_targets(config, modules, type); });
}

Config with(const Targets& targets) {
  Config config;
  config.targets = targets;
  return config;
}

Config with_parameters(Names parameters) {
  Config config = with(suffixes({}));
  config.target_parameters = std::move(parameters);
  return config;
}

const Target& target_of(const Chosen& chosen, const std::vector<Module>& modules,
                        const std::string& end) {
  for (const Target& target : chosen.adapted)
    if (modules[target.module].name.ends_with(end)) return target;
  FAIL("no adapter of " + end);
  return chosen.adapted.front();
}

}  // namespace

TEST_CASE("targets are whole names or their ends behind a dot, or match whole names") {
  const auto model = llama(2);
  CHECK(adapted(with(suffixes({"q_proj"})), model) ==
        Names{"model.layers.0.self_attn.q_proj", "model.layers.1.self_attn.q_proj"});
  CHECK(adapted(with(suffixes({"1.mlp.up_proj", "lm_head"})), model) ==
        Names{"model.layers.1.mlp.up_proj", "lm_head"});
  CHECK(adapted(with(suffixes({"model.layers.0.mlp.up_proj"})), model) ==
        Names{"model.layers.0.mlp.up_proj"});
  CHECK(adapted(with(expression(".*\\.1\\..*\\.(q|k)_proj")), model) ==
        Names{"model.layers.1.self_attn.q_proj", "model.layers.1.self_attn.k_proj"});
  CHECK(adapted(with(suffixes({"embed_tokens"})), model) == Names{"model.embed_tokens"});
}

TEST_CASE("all-linear has every linear layer but the head") {
  const auto model = llama(1);
  const auto names = adapted(with(all_linear()), model);
  CHECK(names.size() == 7);
  CHECK(std::ranges::find(names, "lm_head") == names.end());
  CHECK(std::ranges::find(names, "model.embed_tokens") == names.end());
}

TEST_CASE("many targets are written as the shortest suffixes that tell them from other modules") {
  auto model = llama(3);
  CHECK(choose_targets(with(all_linear()), model, "llama").written.targets.suffixes ==
        Names{"down_proj", "gate_proj", "k_proj", "o_proj", "q_proj", "up_proj", "v_proj"});
  model.push_back({.name = "vision.act.up_proj", .kind = ModuleKind::other});
  CHECK(choose_targets(with(all_linear()), model, "llama").written.targets.suffixes ==
        Names{"down_proj", "gate_proj", "k_proj", "mlp.up_proj", "o_proj", "q_proj", "v_proj"});
  // Below 20 PEFT keeps whole names.
  CHECK(choose_targets(with(all_linear()), llama(2), "llama").written.targets.suffixes.size() ==
        14);
}

TEST_CASE("where no targets are said, the type of model has some") {
  CHECK(adapted(Config{}, llama(1)) ==
        Names{"model.layers.0.self_attn.q_proj", "model.layers.0.self_attn.v_proj"});
  CHECK(choose_targets(Config{}, llama(1), "qwen3").written.targets ==
        suffixes({"q_proj", "v_proj"}));
  CHECK(refusal(Config{}, llama(1), "unheard_of").starts_with("78: "));
}

TEST_CASE("trained rows are tokens that the embedding or the head has, at least one, none twice") {
  const auto model = llama(1);
  Config config = with(suffixes({"q_proj"}));
  const auto told = [&](const std::vector<std::int64_t>& tokens, const std::string& module) {
    config.trainable_tokens = {.is_list = false, .of_modules = {{module, tokens}}};
    return refusal(config, model);
  };
  for (const char* module : {"embed_tokens", "lm_head"}) {
    CAPTURE(module);
    CHECK(told({63, 0}, module) == "nothing thrown");
    CHECK(told({0, 64}, module).starts_with("78: "));
    CHECK(told({3, 5, 3}, module).starts_with("78: "));
    CHECK(told({}, module).starts_with("78: "));
  }
}

TEST_CASE("layers are chosen by the first number behind a list of layers") {
  const auto model = llama(3);
  Config config = with(suffixes({"q_proj"}));
  config.layers_to_transform = OneOrMore<std::int64_t>{.values = {2}};
  CHECK(adapted(config, model) == Names{"model.layers.2.self_attn.q_proj"});
  config.layers_pattern = OneOrMore<std::string>{.values = {"layers"}};
  CHECK(adapted(config, model) == Names{"model.layers.2.self_attn.q_proj"});
  config.layers_pattern = OneOrMore<std::string>{.values = {"h"}};
  CHECK(refusal(config, model).starts_with("78: "));
  config.layers_pattern.reset();
  config.targets = suffixes({"model.layers.0.self_attn.q_proj", "k_proj"});
  CHECK(adapted(config, model) ==
        Names{"model.layers.0.self_attn.q_proj", "model.layers.2.self_attn.k_proj"});
  config.layers_to_transform->values.clear();
  CHECK(adapted(config, model).size() == 4);
  config.layers_to_transform->values = {7};
  config.targets = suffixes({"k_proj"});
  CHECK(refusal(config, model).find("layers_to_transform") != std::string::npos);
}

TEST_CASE("excluded and saved modules have no adapter") {
  const auto model = llama(2);
  Config config = with(suffixes({"q_proj", "lm_head"}));
  config.exclude_modules = suffixes({"0.self_attn.q_proj"});
  config.modules_to_save = {"lm_head"};
  const Chosen chosen = choose_targets(config, model, "llama");
  CHECK(adapted(chosen, model) == Names{"model.layers.1.self_attn.q_proj"});
  REQUIRE(chosen.saved_whole.size() == 1);
  CHECK(model[chosen.saved_whole[0]].name == "lm_head");
  config.exclude_modules = expression(".*q_proj");
  CHECK(refusal(config, model).find("exclude_modules") != std::string::npos);
}

TEST_CASE("a saved module is saved with all that it contains") {
  const auto model = llama(2);
  Config config = with(suffixes({"q_proj"}));
  config.modules_to_save = {"1.mlp"};
  Names saved;
  for (const std::size_t i : choose_targets(config, model, "llama").saved_whole)
    saved.push_back(model[i].name);
  CHECK(saved == Names{"model.layers.1.mlp.gate_proj", "model.layers.1.mlp.up_proj",
                       "model.layers.1.mlp.down_proj"});
}

TEST_CASE("ranks and alphas follow the first pattern that matches") {
  const auto model = llama(2);
  Config config = with(suffixes({"q_proj", "down_proj"}));
  config.rank = 4;
  config.alpha = 8;
  config.dropout = 0.1;
  config.rank_pattern = {{"layers.1.mlp.down_proj", 2}, {"q_proj", 16}};
  config.alpha_pattern = {{"down_proj", 3}};
  const Chosen chosen = choose_targets(config, model, "llama");
  CHECK(target_of(chosen, model, "0.self_attn.q_proj").low_rank.rank == 16);
  CHECK(target_of(chosen, model, "0.self_attn.q_proj").low_rank.scale == 0.5);
  CHECK(target_of(chosen, model, "0.mlp.down_proj").low_rank.rank == 4);
  CHECK(target_of(chosen, model, "0.mlp.down_proj").low_rank.scale == 0.75);
  CHECK(target_of(chosen, model, "1.mlp.down_proj").low_rank.rank == 2);
  CHECK(target_of(chosen, model, "1.mlp.down_proj").low_rank.dropout == 0.1);
  config.rslora = true;
  const Chosen stable = choose_targets(config, model, "llama");
  CHECK(target_of(stable, model, "0.self_attn.q_proj").low_rank.scale == 2.0);
  CHECK(chosen.written.rank_pattern == config.rank_pattern);
}

TEST_CASE("patterns that the sorted file would apply in another order are written by module") {
  const auto model = llama(2);
  Config config = with(suffixes({"q_proj"}));
  config.rank_pattern = {{"layers.1.self_attn.q_proj", 2}, {"_proj|q_proj", 3}};
  const Chosen chosen = choose_targets(config, model, "llama");
  CHECK(target_of(chosen, model, "1.self_attn.q_proj").low_rank.rank == 2);
  CHECK(target_of(chosen, model, "0.self_attn.q_proj").low_rank.rank == 3);
  Config again = chosen.written;
  std::ranges::sort(again.rank_pattern);
  const Chosen read = choose_targets(again, model, "llama");
  CHECK(target_of(read, model, "1.self_attn.q_proj").low_rank.rank == 2);
  CHECK(target_of(read, model, "0.self_attn.q_proj").low_rank.rank == 3);
}

TEST_CASE("experts and routers are reached as parameters") {
  const auto model = mixture();
  CHECK(adapted(with_parameters({"experts.down_proj"}), model, "gpt_oss") ==
        Names{"model.layers.0.mlp.experts.down_proj"});
  CHECK(adapted(with_parameters({"gate.weight"}), model, "gpt_oss") ==
        Names{"model.layers.0.mlp.gate"});
  CHECK(adapted(with_parameters({"q_proj.weight"}), model, "gpt_oss") ==
        Names{"model.layers.0.self_attn.q_proj"});
  Config dropped = with_parameters({"down_proj"});
  dropped.dropout = 0.1;
  CHECK(refusal(dropped, model, "gpt_oss").starts_with("78: "));
  Config twice = with_parameters({"q_proj.weight"});
  twice.targets = suffixes({"q_proj"});
  CHECK(refusal(twice, model, "gpt_oss").starts_with("78: "));
  CHECK(refusal(with(suffixes({"gate"})), model, "gpt_oss").find("gate.weight") !=
        std::string::npos);
  CHECK(refusal(with(suffixes({"gate_up_proj"})), model, "gpt_oss").find("target_parameters") !=
        std::string::npos);
}

TEST_CASE("old names of experts mean the stacked tensors") {
  const auto model = mixture();
  const Config old = with(suffixes({"q_proj", "gate_proj", "up_proj"}));
  for (const Config& config : {old, with(expression(".*\\.(q_proj|gate_proj|up_proj)"))}) {
    const Chosen chosen = choose_targets(config, model, "qwen3_moe");
    CHECK(adapted(chosen, model) ==
          Names{"model.layers.0.self_attn.q_proj", "model.layers.0.mlp.experts.gate_up_proj"});
    CHECK(target_of(chosen, model, "gate_up_proj").low_rank.rank == 16);
    CHECK(target_of(chosen, model, "gate_up_proj").low_rank.scale == 1.0);
    CHECK(target_of(chosen, model, "q_proj").low_rank.rank == 8);
    CHECK(chosen.written.targets == suffixes({"q_proj"}));
    CHECK(chosen.written.target_parameters == Names{"gate_up_proj"});
    // Chosen again, nothing changes.
    const Chosen again = choose_targets(chosen.written, model, "qwen3_moe");
    CHECK(adapted(again, model) == adapted(chosen, model));
    CHECK(again.written.rank_pattern == chosen.written.rank_pattern);
  }
  CHECK(refusal(with(suffixes({"gate_proj"})), model, "qwen3_moe").find("up_proj") !=
        std::string::npos);
  CHECK(refusal(old, model, "gpt_oss").starts_with("78: "));
  const Names everything = adapted(with(all_linear()), model, "qwen3_moe");
  CHECK(everything.size() == 5);
  CHECK(adapted(with(all_linear()), model, "gpt_oss").size() == 2);
}

TEST_CASE("with ensure_weight_tying the head shares the embedding's copy") {
  const auto model = llama(1, true);
  Config config = with(suffixes({"q_proj"}));
  config.modules_to_save = {"lm_head"};
  CHECK(choose_targets(config, model, "llama").shares_saved_embedding.empty());
  CHECK(choose_targets(config, model, "llama").warnings.size() == 1);
  config.ensure_weight_tying = true;
  const Chosen chosen = choose_targets(config, model, "llama");
  CHECK(chosen.saved_whole == std::vector<std::size_t>{0, model.size() - 1});
  CHECK(chosen.shares_saved_embedding == std::vector<std::size_t>{model.size() - 1});
  CHECK(chosen.written.modules_to_save == Names{"model.embed_tokens"});
  config.modules_to_save.reset();
  config.targets = suffixes({"embed_tokens"});
  CHECK(refusal(config, model).starts_with("78: "));
}

TEST_CASE("heads of tasks are saved whole, once") {
  auto model = llama(1);
  model.back() = {
      .name = "score", .kind = ModuleKind::linear, .in = 8, .out = 2, .output_head = true};
  Config config = with(all_linear());
  config.task_type = "SEQ_CLS";
  const Chosen chosen = choose_targets(config, model, "llama");
  CHECK(adapted(chosen, model).size() == 7);
  CHECK(chosen.saved_whole == std::vector<std::size_t>{model.size() - 1});
  CHECK(chosen.written.modules_to_save == Names{"classifier", "score"});
  CHECK(choose_targets(chosen.written, model, "llama").written.modules_to_save ==
        Names{"classifier", "score"});
}

TEST_CASE("GPT-2's layers have their weights the other way round") {
  std::vector<Module> model = llama(1);
  for (Module& module : model) module.conv1d = module.kind == ModuleKind::linear;
  CHECK(choose_targets(with(suffixes({"q_proj"})), model, "gpt2").written.fan_in_fan_out);
  Config config = with(suffixes({"q_proj"}));
  config.fan_in_fan_out = true;
  CHECK_FALSE(choose_targets(config, llama(1), "llama").written.fan_in_fan_out);
}

TEST_CASE("what matches nothing is refused, with what is near, or warned of") {
  const auto model = llama(2);
  const auto told = refusal(with(suffixes({"k_proj", "q_prj"})), model);
  CHECK(told.starts_with("78: "));
  CHECK(told.find("'q_prj'") != std::string::npos);
  CHECK(told.find("'q_proj'") != std::string::npos);
  CHECK(refusal(with(suffixes({"self_atn.q_proj"})), model).find("'self_attn.q_proj'") !=
        std::string::npos);
  CHECK(refusal(with(expression("q_proj")), model).starts_with("78: "));
  Config saved = with(suffixes({"q_proj"}));
  saved.modules_to_save = {"lm_hed"};
  CHECK(refusal(saved, model).find("'lm_head'") != std::string::npos);
  Config parameters = with(suffixes({"q_proj"}));
  parameters.target_parameters = {"experts.w1"};
  CHECK(refusal(parameters, model).starts_with("78: "));
  for (const Config& config : {with(suffixes({"k_proj", "q_prj"})), saved, parameters}) {
    const auto chosen = choose_targets(config, model, "llama", Unmatched::warned_of);
    CHECK(chosen.adapted.size() == 2);
    CHECK(chosen.warnings.size() == 1);
  }
  // Nothing at all is refused either way.
  CHECK(user_error_of([&] {
          choose_targets(with(suffixes({"x"})), model, "llama", Unmatched::warned_of);
        }).starts_with("78: "));
}

TEST_CASE("targets that cannot have an adapter are refused") {
  const auto model = llama(2);
  for (const Targets& targets :
       {suffixes({"norm"}), suffixes({"input_layernorm", "q_proj"}), suffixes({"mlp"}),
        expression("model\\.layers\\.0.*"), expression(".*")}) {
    CHECK(refusal(with(targets), model).starts_with("78: "));
  }
  Config both = with(suffixes({"lm_head"}));
  both.modules_to_save = {"_head"};  // PEFT's ends need no dot, what it leaves out of targets does
  CHECK(refusal(both, model).starts_with("78: "));
}

TEST_CASE("patterns and exclusions without effect are warned of") {
  Config config = with(suffixes({"q_proj"}));
  config.rank_pattern = {{"k_proj", 2}};
  config.alpha_pattern = {{"q_proj", 2}, {"lm_head", 1}};
  config.exclude_modules = suffixes({"vision"});
  CHECK(choose_targets(config, llama(1), "llama").warnings.size() == 3);
}

}  // namespace targets_test
