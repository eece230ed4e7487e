// config.json of families of decoders: what is read, what is written, and what is refused.
#include "architectures/architecture.hpp"
#include "architectures/families/family.hpp"
#include <nlohmann/json.hpp>
#include <cmath>
#include <tuple>
#include "support/catch.hpp"
#include "support/small_decoder.hpp"
#include "support/user_error.hpp"

namespace decoder_test {

using namespace trainx;
using namespace trainx::architectures;
using namespace small_decoder;
using nlohmann::json;

namespace {

DecoderDims dims_of(const json& config) {
  return std::get<DecoderDims>(dims_from_config(config.dump(), "config.json"));
}

/// Without the text that they were read from.
DecoderDims numbers(DecoderDims d) {
  d.config.clear();
  return d;
}

std::string refusal(const json& config) {
  return user_error_of([&] { dims_of(config); });
}

/// One sentence, with exit code 65, that has `words`.
void check_refused(const json& config, const std::string& words) {
  const std::string said = refusal(config);
  INFO(config.dump());
  CHECK_THAT(said, ContainsSubstring("65: config.json: "));
  CHECK_THAT(said, ContainsSubstring(words));
  CHECK(said.find('\n') == std::string::npos);
  CHECK(said.find(". ") == std::string::npos);
}

}  // namespace

TEST_CASE("every published size of every family is read again as it is written") {
  for (const Family& family : families()) {
    REQUIRE_FALSE(family.sizes.empty());
    for (const auto& [name, dims] : sizes(DecoderOptions{.name = std::string(family.name)})) {
      INFO(family.name << " " << name);
      CHECK(dims.family == family.name);
      CHECK(std::ssize(dims.windows) == dims.num_layers);
      CHECK(std::ssize(dims.layer_rope) == dims.num_layers);
      CHECK(dims.num_heads % dims.num_key_value_heads == 0);
      for (const int rope : dims.layer_rope) CHECK(rope < std::ssize(dims.ropes));
      for (const DType saved : {DType::f32, DType::bf16}) {
        const std::string text = config_text(dims, saved);
        const auto again = std::get<DecoderDims>(dims_from_config(text, "config.json"));
        CHECK(numbers(again) == numbers(dims));
        CHECK(config_text(again, saved) == text);
        CHECK(json::parse(text).at("dtype") == (saved == DType::f32 ? "float32" : "bfloat16"));
      }
    }
  }
}

TEST_CASE("small models of every family are read, and again as they are written") {
  for (const Family& family : families()) {
    json config = small(std::string(family.name));
    if (family.name == "opt") config["word_embed_proj_dim"] = 40;
    INFO(family.name);
    const DecoderDims dims = dims_of(config);
    CHECK(dims.num_layers == 3);
    CHECK(dims.head_size == 10);
    CHECK(dims.intermediate_size == width(family.name, 40, 60));
    const std::string text = config_text(dims, DType::bf16);
    CHECK(numbers(std::get<DecoderDims>(dims_from_config(text, "config.json"))) == numbers(dims));
  }
}

TEST_CASE("sizes that a recipe sets are in the folder that is written") {
  for (const Family& family : families()) {
    INFO(family.name);
    json config = small(std::string(family.name));
    if (family.name == "opt") config["word_embed_proj_dim"] = 40;
    DecoderDims dims = dims_of(config);
    DecoderOptions options{.name = std::string(family.name)};
    dims.num_layers = 5, dims.num_heads = 6, dims.num_key_value_heads = 3, dims.hidden_size = 48;
    dims.head_size = 8, dims.intermediate_size = 70, dims.max_positions = 20, dims.vocab_size = 33;
    dims.intermediate_size = width(family.name, 48, 70);
    if (is_latent(family.name)) dims.head_size = 10;
    if (has_all_heads(family.name)) dims.num_key_value_heads = 6;
    const DecoderDims asked = dims;
    take_settings(options, dims);
    const std::string text = config_text(dims, DType::f32);
    DecoderDims again = std::get<DecoderDims>(dims_from_config(text, "config.json"));
    CHECK(
        std::tie(again.num_layers, again.num_heads, again.num_key_value_heads, again.hidden_size,
                 again.head_size, again.intermediate_size, again.max_positions, again.vocab_size) ==
        std::tie(asked.num_layers, asked.num_heads, asked.num_key_value_heads, asked.hidden_size,
                 asked.head_size, asked.intermediate_size, asked.max_positions, asked.vocab_size));
    CHECK(std::ssize(again.windows) == 5);
    again.dropout = dims.dropout;
    CHECK(numbers(again) == numbers(dims));
  }
}

TEST_CASE("heads that a recipe changes bring as many keys along, or fewer that divide them") {
  const auto keys_of = [](const char* family, std::int64_t keys, std::int64_t heads) {
    json config = small(family);
    config["num_key_value_heads"] = keys;
    DecoderDims d = dims_of(config);
    DecoderOptions o{.name = family};
    o.num_heads = heads;
    dimensions(o, d);
    return d.num_key_value_heads;
  };
  CHECK(keys_of("gpt_neox", 4, 10) == 10);
  CHECK(keys_of("llama", 4, 6) == 6);
  CHECK(keys_of("llama", 2, 6) == 2);
  CHECK(keys_of("llama", 2, 5) == 1);
}

TEST_CASE("families without grouped heads refuse them") {
  json config = small(GENERATE("gpt_neox", "opt", "bloom"));
  config["num_key_value_heads"] = 2;
  check_refused(config, "num_key_value_heads is 2");
}

TEST_CASE("both spellings of rope settings make equal models") {
  for (const Family& family : families()) {
    if (!has_rope(family.name) || family.name == "phi3") continue;  // which knows longrope alone
    INFO(family.name);
    json now = small(std::string(family.name)), before = now;
    const json layers{{"rope_type", "linear"}, {"factor", 2.0}, {"rope_theta", 5000.0}};
    const bool by_kind = family.name == "gemma3_text" || family.name == "olmo3";
    now["rope_parameters"] = by_kind ? json{{"full_attention", layers}} : layers;
    before.erase("rope_parameters");
    before[family.name == "gpt_neox" ? "rotary_emb_base" : "rope_theta"] = 5000.0;
    before["rope_scaling"] = {{by_kind ? "rope_type" : "type", "linear"}, {"factor", 2.0}};
    DecoderDims a = numbers(dims_of(now)), b = numbers(dims_of(before));
    REQUIRE_FALSE(a.ropes.empty());
    CHECK(a.ropes[0] == b.ropes[0]);
    CHECK(a.ropes[0].kind == Rope::Kind::linear);
    CHECK(a.ropes[0].theta == 5000);
    // of layers with a window the old spelling says something else
    if (a.ropes.size() == 2) a.ropes.pop_back(), b.ropes.pop_back();
    CHECK(a == b);
  }
}

TEST_CASE("layers with and without a window may have ropes of their own") {
  const std::string family = GENERATE("gemma3_text", "olmo3");
  json config = small(family);
  config["num_hidden_layers"] = 2;
  config["layer_types"] = {"sliding_attention", "full_attention"};
  config["sliding_window"] = 8;
  config["rope_parameters"] = {
      {"full_attention",
       {{"rope_type", "yarn"},
        {"factor", 4.0},
        {"rope_theta", 7000.0},
        {"original_max_position_embeddings", 8}}},
      {"sliding_attention", {{"rope_type", "default"}, {"rope_theta", 900.0}}}};
  const DecoderDims d = dims_of(config);
  CHECK(d.windows == std::vector<std::int64_t>{8, 0});
  CHECK(d.layer_rope == std::vector<int>{1, 0});
  REQUIRE(d.ropes.size() == 2);
  CHECK((d.ropes[0].kind == Rope::Kind::yarn && d.ropes[0].theta == 7000));
  CHECK((d.ropes[1].kind == Rope::Kind::plain && d.ropes[1].theta == 900));
}

TEST_CASE("values that no model can have are refused in one sentence") {
  for (const Family& family : families()) {
    const std::string name(family.name), width = name == "opt" ? "ffn_dim" : "intermediate_size";
    const auto with = [&](const std::string& key, const json& value) {
      json c = small(name);
      c[key] = value;
      if (key == "rope_scaling") c.erase("rope_parameters");
      return c;
    };
    for (const std::string& key :
         {std::string("num_hidden_layers"), std::string("num_attention_heads"),
          std::string("num_key_value_heads"), std::string("hidden_size"), width,
          std::string("vocab_size"), std::string("max_position_embeddings"),
          std::string("head_dim")}) {
      if (name == "bloom" && key == "max_position_embeddings") continue;  // transformers reads none
      for (const json& bad : {json(0), json(-3), json(2.5), json("8"), json::array({4}), json(true),
                              json(1e300), json(std::uint64_t{1} << 63)})
        check_refused(with(key, bad), key + " is ");
    }
    for (const std::string key :
         {"num_hidden_layers", "num_attention_heads", "hidden_size", "vocab_size"})
      check_refused(with(key, nullptr), key + " is missing");
    json odd = with("num_attention_heads", 7);
    odd.erase("head_dim");
    odd["num_key_value_heads"] = 7;
    if (refusal(odd) == "nothing thrown")
      CHECK(dims_of(odd).head_size >= (name == "gpt_oss" ? 64 : 128));  // the family's own
    else
      check_refused(odd, "must be a multiple of num_attention_heads (7)");
    check_refused(with("num_key_value_heads", 3), "must be a multiple of num_key_value_heads (3)");
    check_refused(with("num_hidden_layers", 200000), "num_hidden_layers");
    // what transformers does not read changes nothing
    CHECK(numbers(dims_of(with("a_new_kind_of_layer", 1))) ==
          numbers(dims_of(small_decoder::small(name))));
    check_refused(with("per_layer_config", {{"0", 1}}), "per_layer_config is an object");
    check_refused(with("quantization_config", {{"bits", 4}}),
                  name == "gpt_oss" ? "quantization_config must be of quant_method mxfp4"
                                    : "quantization_config is an object");
    check_refused(with("tie_word_embeddings", "yes"), "tie_word_embeddings is \"yes\"");
    if (!has_rope(name)) continue;
    check_refused(with("rope_scaling", {{"rope_type", "spiral"}}), "rope_type is \"spiral\"");
    check_refused(with("rope_parameters", 10000), "rope_parameters is 10000");
  }
}

TEST_CASE("heads that turn wholly have an even size") {
  for (const Family& family : families()) {
    INFO(family.name);
    json config = small(std::string(family.name));
    config["head_dim"] = 9;
    if (family.name == "opt") {
      CHECK(dims_of(config).head_size == 9);
      continue;
    }
    if (is_latent(family.name)) {
      check_refused(config, "head_dim is 9");
      config["head_dim"] = config["qk_rope_head_dim"] = 3;
      check_refused(config, "qk_rope_head_dim (3) must be even");
      continue;
    }
    if (!has_rope(family.name)) {
      check_refused(config, "head_dim must be hidden_size / num_attention_heads");
      continue;
    }
    if (const DecoderDims even = dims_of(small(std::string(family.name)));
        even.ropes[0].rotated < 1) {
      CHECK(dims_of(config).head_size == 9);
    } else {
      check_refused(config, "head_dim (9) must be even");
    }
  }
  // of each kind of layer
  json config = small("olmo3");
  config["head_dim"] = 9;
  config["rope_parameters"] = {{"full_attention", {{"partial_rotary_factor", 0.5}}},
                               {"sliding_attention", {{"rope_theta", 100.0}}}};
  check_refused(config, "head_dim (9) must be even");
}

TEST_CASE("an odd part of a head turns where transformers rounds it up, else it is refused") {
  for (const std::string family : {"phi", "stablelm", "glm", "nemotron"}) {
    INFO(family);
    json config = small(family);
    config["head_dim"] = 10;
    config["rope_parameters"] = {{"partial_rotary_factor", 0.55}};  // 5 elements
    if (turns_pairs(family))
      check_refused(config, "partial_rotary_factor of head_dim (10) is 5 elements");
    else
      CHECK(dims_of(config).ropes[0].rotated == 0.55);
    config["rope_parameters"] = {{"partial_rotary_factor", 0.45}};
    CHECK(dims_of(config).ropes[0].rotated == 0.45);
  }
}

TEST_CASE("a model_type that trainx does not know is refused with those it knows") {
  json config = small("llama");
  config["model_type"] = GENERATE(json("llama9"), json(3), json("Llama"), json(json::array()));
  check_refused(config, "model_type is ");
  CHECK_THAT(refusal(config), ContainsSubstring("\"qwen3\""));
  config.erase("model_type");
  check_refused(config, "model_type is missing");
}

TEST_CASE("layer_types has a known kind for each layer") {
  const std::string family = GENERATE("qwen2", "qwen3", "gemma2", "gemma3_text", "olmo3", "cohere2",
                                      "ministral", "smollm3", "exaone4");
  INFO(family);
  json config = small(family);
  const std::string full = "full_attention", sliding = "sliding_attention";
  config["layer_types"] = {full, sliding, full};
  CHECK(refusal(config) == "nothing thrown");
  config["layer_types"] = {full, sliding};
  check_refused(config, "layer_types must be a list of num_hidden_layers (3)");
  config["layer_types"] = {full, sliding, full, full};
  check_refused(config, "layer_types must be a list of num_hidden_layers (3)");
  config["layer_types"] = full;
  check_refused(config, "layer_types must be a list");
  config["layer_types"] = {full, "linear_attention", full};
  check_refused(config, "layer_types has \"linear_attention\"");
  config["layer_types"] = {full, 1, full};
  check_refused(config, "layer_types has 1");
  config.erase("layer_types");
  config["sliding_window"] = "long";
  check_refused(config, "sliding_window is \"long\"");
}

TEST_CASE("layers of SmolLM3 know positions where its list has a one") {
  json config = small("smollm3");
  config["no_rope_layers"] = {1, 0, 1};
  CHECK(dims_of(config).layer_rope == std::vector<int>{0, -1, 0});
  config["no_rope_layers"] = {true, false, true};
  CHECK(dims_of(config).layer_rope == std::vector<int>{0, -1, 0});
  config["no_rope_layers"] = {1, "yes", 1};
  check_refused(config, "no_rope_layers");
  config["no_rope_layers"] = {1, 2, 1};
  check_refused(config, "no_rope_layers");
  config["no_rope_layers"] = {1, 1};
  check_refused(config, "no_rope_layers");
}

TEST_CASE("layers of Granite with sinks have windows, and a theta each or no positions") {
  json config = small("granite_swa");
  const DecoderDims plain = dims_of(config);
  REQUIRE(plain.num_layers == 3);
  CHECK(plain.names.sinks == "self_attn.sinks");
  CHECK(plain.windows == std::vector<std::int64_t>{0, 128, 128});
  CHECK(plain.layer_rope == std::vector<int>{0, 0, 0});
  config["layer_types"] = {"sliding_attention", "full_attention", "full_attention"};
  config["sliding_window"] = 4;
  config["layer_rope_theta"] = {50, 0, 700.5};
  const DecoderDims d = dims_of(config);
  CHECK(d.windows == std::vector<std::int64_t>{4, 0, 0});
  CHECK(d.layer_rope == std::vector<int>{0, -1, 1});
  REQUIRE(d.ropes.size() == 2);
  CHECK(d.ropes[0].theta == 50);
  CHECK(d.ropes[1].theta == 700.5);
  config["layer_rope_theta"] = {5, 5, 5};
  CHECK(dims_of(config).layer_rope == std::vector<int>{0, 0, 0});
  config["layer_rope_theta"] = {0, 0, 0};
  CHECK(dims_of(config).ropes.empty());
  for (const json& bad : {json{5, 5}, json{5, 5, -1}, json{5, "0", 5}, json(10000)}) {
    config["layer_rope_theta"] = bad;
    check_refused(config, "layer_rope_theta");
  }
}

TEST_CASE("settings of a family that must be numbers, flags or names of functions are such") {
  const auto [family, key, bad] = GENERATE(table<std::string, std::string, json>({
      {"llama", "rms_norm_eps", 0},
      {"llama", "rms_norm_eps", "1e-5"},
      {"llama", "attention_bias", 1},
      {"llama", "hidden_act", "quick_gelu"},
      {"llama", "hidden_act", 4},
      {"gemma2", "attn_logit_softcapping", -1},
      {"gemma2", "final_logit_softcapping", "none"},
      {"gemma2", "query_pre_attn_scalar", 0},
      {"gemma3_text", "use_bidirectional_attention", true},
      {"gemma3_text", "rope_local_base_freq", 0},
      {"olmo", "clip_qkv", 0},
      {"olmo", "clip_qkv", true},
      {"granite", "logits_scaling", 0},
      {"granite", "residual_multiplier", "0.2"},
      {"cohere", "logit_scale", -1},
      {"opt", "do_layer_norm_before", false},
      {"opt", "word_embed_proj_dim", 20},
      {"bloom", "apply_residual_connection_post_layernorm", true},
      {"bloom", "intermediate_size", 60},
      {"deepseek_v3", "first_k_dense_replace", -1},
      {"mixtral", "num_experts_per_tok", 0},
      {"mixtral", "router_jitter_noise", 0.1},
      {"mixtral", "router_aux_loss_coef", -1},
      {"mixtral", "output_router_logits", 1},
      {"qwen2_moe", "num_experts", 2.5},
      {"qwen2_moe", "decoder_sparse_step", 0},
      {"dots1", "routed_scaling_factor", 0},
      {"deepseek_v2", "kv_lora_rank", 0},
      {"minicpm3", "scale_depth", 0},
      {"bloom", "attention_dropout", 1},
      {"phi", "resid_pdrop", 1.5},
      {"phi3", "attention_bias", true},
      {"gpt_neox", "rotary_pct", 1.5},
      {"gpt_neox", "rotary_emb_base", "10000"},
      {"starcoder2", "norm_type", "rms"},
      {"nanochat", "final_logit_softcapping", -15},
  }));
  json config = small(family);
  config[key] = bad;
  check_refused(config, key + " is ");
}

TEST_CASE("BLOOM's older spellings, its slopes instead of positions, and its files' names") {
  json config = small("bloom");
  const DecoderDims now = dims_of(config);
  CHECK(now.alibi);
  CHECK(now.layer_rope == std::vector<int>{-1, -1, -1});
  config.erase("num_hidden_layers");
  config.erase("hidden_size");
  config["n_layer"] = 3, config["n_embed"] = 40;
  CHECK(numbers(dims_of(config)) == numbers(now));
  CHECK(parameter_of(now, "h.0.input_layernorm.weight") ==
        "transformer.h.0.input_layernorm.weight");
  CHECK(parameter_of(now, "transformer.ln_f.bias") == "transformer.ln_f.bias");
  CHECK(parameter_of(now, "lm_head.weight") == "transformer.word_embeddings.weight");
  DecoderDims wider = now;
  DecoderOptions options{.name = "bloom"};
  options.hidden_size = 48;
  dimensions(options, wider);
  CHECK(wider.intermediate_size == 192);
}

TEST_CASE("a dropout of config.json that training leaves out is said") {
  for (const auto& [family, key] : {std::pair{"phi", "embd_pdrop"},
                                    {"starcoder2", "embedding_dropout"},
                                    {"opt", "layerdrop"}}) {
    json config = small(family);
    if (family == std::string("opt")) config["word_embed_proj_dim"] = 40;
    config[key] = 0.0;
    CHECK(dropout_remarks(config.dump(), "c", dims_of(config)).empty());
    config[key] = 0.1;
    const auto remarks = dropout_remarks(config.dump(), "c", dims_of(config));
    REQUIRE(remarks.size() == 1);
    CHECK(remarks.front().find("c has " + std::string(key) + " 0.1") == 0);
  }
}

TEST_CASE("dropouts that were trained with are written where the family's reader finds them") {
  for (const Family& family : families()) {
    INFO(family.name);
    json config = small(std::string(family.name));
    if (family.name == "opt") config["word_embed_proj_dim"] = 40;
    DecoderDims dims = dims_of(config);
    dims.attention_dropout = 0.25;
    if (!dims.dropout_key.empty()) dims.dropout = 0.125;
    const auto again =
        std::get<DecoderDims>(dims_from_config(config_text(dims, DType::f32), "config.json"));
    CHECK(again.dropout == dims.dropout);
    // transformers has none of it for ERNIE 4.5
    if (family.name != "ernie4_5") CHECK(again.attention_dropout == 0.25);
  }
}

TEST_CASE("latent attention: its sizes, yarn's stretch of scores, layers with experts") {
  json config = small("deepseek_v3");
  DecoderDims d = dims_of(config);
  CHECK(d.latent ==
        Latent{.query_rank = 12, .key_value_rank = 8, .plain = 6, .rope = 4, .value_size = 5});
  CHECK(d.neighbours);
  CHECK(std::abs(d.score_scale - 1 / std::sqrt(10.0)) < 1e-12);
  config["rope_parameters"] = {{"rope_type", "yarn"},   {"rope_theta", 1e4},
                               {"factor", 4.0},         {"original_max_position_embeddings", 8},
                               {"mscale_all_dim", 0.7}, {"mscale", 1.0}};
  const double stretch = 0.1 * 0.7 * std::log(4.0) + 1;
  CHECK(std::abs(dims_of(config).score_scale - stretch * stretch / std::sqrt(10.0)) < 1e-12);
  config["q_lora_rank"] = nullptr;
  CHECK(dims_of(config).latent.query_rank == 0);
  CHECK_FALSE(dims_of(config).experts);
  config["first_k_dense_replace"] = 2;
  CHECK(dims_of(config).experts.layers == std::vector<char>{0, 0, 1});
  config["n_routed_experts"] = nullptr;
  CHECK_FALSE(dims_of(config).experts);
  config["num_key_value_heads"] = 2;
  check_refused(config, "num_key_value_heads (2) must be num_attention_heads (4)");
  // heads are what the file says
  DecoderOptions options{.name = "deepseek_v3"};
  options.head_size = 12;
  CHECK_THROWS_AS(take_settings(options, d), UserError);
  CHECK(has_own_attention(d));
}

TEST_CASE("HunYuan's alpha stretches theta once") {
  json config = small("hunyuan_v1_dense");
  config["rope_scaling"] = {{"type", "dynamic"}, {"alpha", 1000.0}, {"factor", 1.0}};
  const DecoderDims d = dims_of(config);
  CHECK(d.ropes[0].kind == Rope::Kind::alpha);
  const auto near = rope_table(d.ropes[0], 10, 8).frequencies,
             far = rope_table(d.ropes[0], 10, 8000).frequencies;
  CHECK(near == far);
  const double want = std::pow(10000 * std::pow(1000.0, 10.0 / 8), -2.0 / 10);
  CHECK(std::abs(near[1] / want - 1) < 1e-5);
  config = small("llama");
  config["rope_scaling"] = {{"type", "dynamic"}, {"alpha", 1000.0}, {"factor", 1.0}};
  CHECK(dims_of(config).ropes[0].kind == Rope::Kind::dynamic);  // transformers reads none there
}

TEST_CASE("experts: which layers have some, and what their router does") {
  using operations::Router;
  DecoderDims d = dims_of(small("mixtral"));
  CHECK(d.experts.layers == std::vector<char>{1, 1, 1});
  CHECK(d.experts.features == 60);
  CHECK(d.experts.router == Router{.experts = 8, .per_token = 2, .normalized = true});
  json config = small("qwen2_moe");
  config["decoder_sparse_step"] = 2;
  CHECK(dims_of(config).experts.layers == std::vector<char>{0, 1, 0});
  config["mlp_only_layers"] = {1, 7};
  CHECK_FALSE(dims_of(config).experts);
  config["mlp_only_layers"] = {"1"};
  check_refused(config, "mlp_only_layers must be a list of whole numbers");
  config = small("dots1");
  config.update({{"n_group", 4}, {"topk_group", 2}, {"routed_scaling_factor", 2.5}});
  d = dims_of(config);
  CHECK(d.experts.router == Router{.experts = 8,
                                   .per_token = 2,
                                   .score = Router::Score::sigmoid,
                                   .scale = 2.5,
                                   .groups = 4,
                                   .kept_groups = 2,
                                   .group_score = Router::GroupScore::two_largest});
  CHECK(d.experts.shared_features == 1408);
  CHECK(d.experts.names.correction == "mlp.gate.e_score_correction_bias");
}

TEST_CASE("the loss of routers is that of the families that have one") {
  json config = small("mixtral");
  config["router_aux_loss_coef"] = 0.25;
  CHECK(dims_of(config).experts.loss == 0);
  config["output_router_logits"] = true;
  CHECK(dims_of(config).experts.loss == 0.25);
  config.erase("router_aux_loss_coef");
  CHECK(dims_of(config).experts.loss == 0.001);
  config = small("dots1");
  config.update({{"output_router_logits", true}, {"router_aux_loss_coef", 0.25}});
  CHECK(dims_of(config).experts.loss == 0);
}

TEST_CASE("routers that cannot choose are refused") {
  json config = small("dots1");
  const auto with = [&](json changes) {
    json c = config;
    c.update(changes);
    return c;
  };
  check_refused(with({{"num_experts_per_tok", 9}}), "must be at most the experts (8)");
  check_refused(with({{"n_group", 3}}), "n_group (3) must divide the experts (8)");
  check_refused(with({{"n_group", 8}}), "into groups of at least 2");
  check_refused(with({{"n_group", 2}, {"topk_group", 3}}), "must be at most n_group (2)");
  check_refused(with({{"n_group", 4}, {"num_experts_per_tok", 3}}),
                "num_experts_per_tok (3) must be at most the experts of topk_group (1) groups (2)");
  config = small("mixtral");
  check_refused(with({{"num_experts", 8}, {"num_local_experts", 4}}), "differ");
}

TEST_CASE("layers that predict tokens further ahead are no parameters") {
  json config = small("deepseek_v3");
  config["first_k_dense_replace"] = 1;
  const DecoderDims d = dims_of(config);
  CHECK(parameter_of(d, "model.layers.3.mlp.gate.weight").empty());
  CHECK(parameter_of(d, "model.layers.2.mlp.gate.weight") == "model.layers.2.mlp.gate.weight");
  CHECK(parameter_of(d, "model.layers.30.mlp.gate.weight") == "model.layers.30.mlp.gate.weight");
}

}  // namespace decoder_test
