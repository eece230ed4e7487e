#include "adapter/names.hpp"
#include "unit/adapter/small_models.hpp"
#include "support/catch.hpp"
#include "support/user_error.hpp"
#include <algorithm>

namespace names_test {

using namespace trainx;
using namespace trainx::adapter;
using namespace trainx::adapter::testing;

namespace {

using Dims = std::vector<std::int64_t>;
using Found = std::vector<std::pair<std::string, Dims>>;

std::vector<std::string> parameters_of(const std::vector<Module>& modules) {
  std::vector<std::string> names;
  for (const Module& module : modules)
    if (!module.tied_to_embedding)
      names.push_back(module.kind == ModuleKind::expert_tensor ? module.name
                                                               : module.name + ".weight");
  return names;
}

std::vector<AdapterTensor> tensors(const Config& config, const std::vector<Module>& modules,
                                   const std::string& type = "llama") {
  return adapter_tensors(modules, choose_targets(config, modules, type), parameters_of(modules));
}

Found named(const std::vector<AdapterTensor>& tensors) {
  Found found;
  for (const AdapterTensor& tensor : tensors) found.emplace_back(tensor.name, tensor.dims);
  return found;
}

Config with(std::vector<std::string> targets) {
  Config config;
  config.rank = 2;
  config.targets = suffixes(std::move(targets));
  return config;
}

}  // namespace

TEST_CASE("linear layers and embeddings are named as PEFT names them") {
  CHECK(named(tensors(with({"q_proj", "v_proj"}), llama(1))) ==
        Found{{"base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight", {2, 8}},
              {"base_model.model.model.layers.0.self_attn.q_proj.lora_B.weight", {8, 2}},
              {"base_model.model.model.layers.0.self_attn.v_proj.lora_A.weight", {2, 8}},
              {"base_model.model.model.layers.0.self_attn.v_proj.lora_B.weight", {4, 2}}});
  CHECK(named(tensors(with({"embed_tokens"}), llama(1))) ==
        Found{{"base_model.model.model.embed_tokens.base_layer.weight", {}},
              {"base_model.model.model.embed_tokens.lora_embedding_A", {2, 64}},
              {"base_model.model.model.embed_tokens.lora_embedding_B", {8, 2}}});
  // By another name than PEFT looks for, the base's weight is not written.
  CHECK(tensors(with({"model.embed_tokens"}), llama(1)).size() == 2);
}

TEST_CASE("trained rows are named as PEFT names them, and no base weight beside them") {
  Config config = with({"embed_tokens"});
  config.trainable_tokens = {.is_list = false, .of_modules = {{"lm_head", {5, 3, 9}}}};
  CHECK(named(tensors(config, llama(1))) ==
        Found{{"base_model.model.lm_head.token_adapter.trainable_tokens_delta", {3, 8}},
              {"base_model.model.model.embed_tokens.lora_embedding_A", {2, 64}},
              {"base_model.model.model.embed_tokens.lora_embedding_B", {8, 2}}});
  config = with({"q_proj"});
  config.trainable_tokens = {.is_list = true, .of_modules = {{"", {0}}}};
  CHECK(named(tensors(config, llama(1))).front() ==
        Found::value_type{
            "base_model.model.model.embed_tokens.token_adapter.trainable_tokens_delta", {1, 8}});
}

TEST_CASE("of two parameters of a module the last is outermost") {
  Config config = with({});
  config.target_parameters = {"experts.gate_up_proj", "experts.down_proj", "gate.weight"};
  CHECK(named(tensors(config, mixture(), "gpt_oss")) ==
        Found{{"base_model.model.model.layers.0.mlp.experts.base_layer.lora_A.weight", {6, 8}},
              {"base_model.model.model.layers.0.mlp.experts.base_layer.lora_B.weight", {10, 6}},
              {"base_model.model.model.layers.0.mlp.experts.lora_A.weight", {6, 5}},
              {"base_model.model.model.layers.0.mlp.experts.lora_B.weight", {8, 6}},
              {"base_model.model.model.layers.0.mlp.gate.lora_A.weight", {2, 8}},
              {"base_model.model.model.layers.0.mlp.gate.lora_B.weight", {3, 2}}});
  config.target_parameters = {"experts.gate_up_proj"};
  CHECK(named(tensors(config, mixture(), "gpt_oss")) ==
        Found{{"base_model.model.model.layers.0.mlp.experts.lora_A.weight", {6, 8}},
              {"base_model.model.model.layers.0.mlp.experts.lora_B.weight", {10, 6}}});
}

TEST_CASE("saved modules have their own names, also tied ones") {
  Config config = with({"q_proj"});
  config.modules_to_save = {"lm_head", "norm"};
  const auto model = llama(1, true);
  std::vector<std::string> whole;
  for (const AdapterTensor& tensor : tensors(config, model))
    if (tensor.role == TensorRole::whole) {
      CHECK(tensor.name == "base_model.model." + tensor.parameter);
      CHECK(model[tensor.module].name + ".weight" == tensor.parameter);
      whole.push_back(tensor.parameter);
    }
  // PEFT's ends of names need no dot in front.
  CHECK(whole == std::vector<std::string>{"lm_head.weight", "model.layers.0.input_layernorm.weight",
                                          "model.norm.weight"});
}

TEST_CASE("the base's own parameters lie inside what wraps their modules") {
  const auto names_of = [](const Config& config) {
    const auto model = llama(1);
    const std::vector<std::string> parameters{"model.embed_tokens.weight",
                                              "model.layers.0.self_attn.q_proj.weight",
                                              "lm_head.weight",
                                              "lm_head.bias",
                                              "no.such.weight",
                                              "final_logits_bias"};
    std::vector<std::string> names;
    for (const AdapterTensor& tensor :
         base_tensors(model, choose_targets(config, model, "llama"), parameters)) {
      CHECK(tensor.role == TensorRole::base);
      names.push_back(tensor.name.substr(std::string("base_model.model.").size()));
    }
    return names;
  };
  using Names = std::vector<std::string>;
  Config config = with({"lm_head", "q_proj"});
  CHECK(names_of(config) == Names{"model.embed_tokens.weight",
                                  "model.layers.0.self_attn.q_proj.base_layer.weight",
                                  "lm_head.base_layer.weight", "lm_head.base_layer.bias"});
  config = with({"v_proj"});
  config.modules_to_save = {"lm_head"};
  config.trainable_tokens = {true, {{"", {3}}}};
  CHECK(names_of(config) == Names{"model.embed_tokens.token_adapter.base_layer.weight",
                                  "model.layers.0.self_attn.q_proj.weight"});
}

TEST_CASE("files must have exactly the tensors of their settings") {
  const auto expected = tensors(with({"embed_tokens", "q_proj"}), llama(1));
  CHECK(std::ranges::any_of(expected, [](const AdapterTensor& tensor) {
    return tensor.name.ends_with("embed_tokens.base_layer.weight");
  }));
  std::vector<FoundTensor> found;
  for (const AdapterTensor& tensor : expected)
    found.push_back({tensor.name, tensor.dims.empty() ? Dims{64, 8} : tensor.dims});
  const auto told = [&](const std::vector<FoundTensor>& file) {
    return user_error_of([&] { check_tensors(expected, file, "a.safetensors"); });
  };
  CHECK(told(found) == "nothing thrown");
  auto lacking = found;
  std::erase_if(lacking,
                [](const FoundTensor& t) { return t.name.ends_with("base_layer.weight"); });
  CHECK(told(lacking) == "nothing thrown");
  lacking.pop_back();
  CHECK(told(lacking).starts_with("65: a.safetensors: tensor '" + found.back().name));
  auto other = found;
  other.back().dims = {9, 2};
  CHECK(told(other).find("[9, 2]") != std::string::npos);
  other = found;
  other.push_back({"base_model.model.x.lora_A.weight\n", {1}});
  CHECK(told(other).starts_with("65: a.safetensors: tensor 'base_model.model.x.lora_A.weight?'"));
  other = found;
  other.push_back(found.back());
  CHECK(told(other).starts_with("65: "));
}

}  // namespace names_test
