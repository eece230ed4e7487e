#include "core/error.hpp"
#include "graph/to_blocks.hpp"
#include "architectures/architecture.hpp"
#include "architectures/saved_layout.hpp"
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include "support/catch.hpp"
#include "support/user_error.hpp"

namespace gpt2_test {

using namespace trainx;
using namespace trainx::architectures;
using namespace trainx::options;

namespace {

const Gpt2Dims small{.num_layers = 2,
                     .num_heads = 2,
                     .hidden_size = 8,
                     .intermediate_size = 32,
                     .max_positions = 10,
                     .vocab_size = 11};

program::SharedVector<program::GroupSpec> gpt2_groups(const Gpt2Dims& dims) {
  return graph_of(dims, 1, 1, DType::f32).groups;
}

Gpt2Dims from_config(const std::string& text, const std::string& path) {
  return std::get<Gpt2Dims>(dims_from_config(text, path));
}

std::int64_t saved_parameters(const Gpt2Dims& dims) {
  std::int64_t n = 0;
  for (const auto& g : gpt2_groups(dims))
    for (const auto& p : g.parameters) n += saved_elements(p);
  return n;
}

}  // namespace

TEST_CASE("published sizes have the published numbers of parameters") {
  std::vector<std::pair<std::string_view, std::int64_t>> counts;
  for (const auto& [name, dims] : sizes(Gpt2Options{}))
    counts.emplace_back(name, saved_parameters(dims));
  CHECK(counts ==
        std::vector<std::pair<std::string_view, std::int64_t>>{
            {"124m", 124439808}, {"350m", 354823168}, {"774m", 774030080}, {"1558m", 1557611200}});
}

TEST_CASE("parameters have the names and saved shapes of a Hugging Face folder") {
  std::map<std::string, std::vector<std::int64_t>> found;
  for (const auto& g : gpt2_groups(small))
    for (const auto& p : g.parameters) CHECK(found.emplace(p.name, p.saved_dims).second);
  std::map<std::string, std::vector<std::int64_t>> want{
      {"wte.weight", {11, 8}}, {"wpe.weight", {10, 8}}, {"ln_f.weight", {8}}, {"ln_f.bias", {8}}};
  for (const std::string h : {"h.0.", "h.1."}) {
    for (const std::string ln : {"ln_1", "ln_2"})
      want[h + ln + ".weight"] = want[h + ln + ".bias"] = {8};
    want[h + "attn.c_attn.weight"] = {8, 24};
    want[h + "attn.c_attn.bias"] = {24};
    want[h + "attn.c_proj.weight"] = {8, 8};
    want[h + "attn.c_proj.bias"] = {8};
    want[h + "mlp.c_fc.weight"] = {8, 32};
    want[h + "mlp.c_fc.bias"] = {32};
    want[h + "mlp.c_proj.weight"] = {32, 8};
    want[h + "mlp.c_proj.bias"] = {8};
  }
  CHECK(found == want);
  CHECK(parameter_of(small, "transformer.h.0.attn.c_attn.bias") == "h.0.attn.c_attn.bias");
  CHECK(parameter_of(small, "wte.weight") == "wte.weight");
  CHECK(parameter_of(small, "lm_head.weight") == "wte.weight");
}

TEST_CASE("in a group decayed tensors come first, aligned, without overlap") {
  for (const auto& g : gpt2_groups({.num_layers = 3,
                       .num_heads = 3,
                       .hidden_size = 33,
                       .intermediate_size = 70,
                       .vocab_size = 200})) {
    std::int64_t end = 0;
    bool decay = true;
    for (const auto& p : g.parameters) {
      INFO(p.name);
      CHECK(p.offset % program::group_alignment == 0);
      CHECK(p.offset >= end);
      CHECK(p.offset < end + program::group_alignment);
      CHECK((decay || !p.decay));
      CHECK(p.decay == (p.dims.size() == 2));
      decay = p.decay;
      end = p.offset + p.elements();
    }
    CHECK(g.elements >= end);
    CHECK(g.elements % program::group_alignment == 0);
  }
}

TEST_CASE("pending biases stand with the norm that adds them") {
  const auto groups = gpt2_groups(small);
  const auto names = [&](std::size_t group) {
    std::vector<std::string> out;
    for (const auto& p : groups.at(group).parameters) out.push_back(p.name);
    return out;
  };
  using Names = std::vector<std::string>;
  // wte, wpe, then a group for each block
  CHECK(groups.at(2).parameters.size() == 5);
  CHECK(names(3) == Names{"h.0.mlp.c_fc.weight", "h.0.mlp.c_proj.weight", "h.0.mlp.c_fc.bias",
                          "h.0.ln_2.weight", "h.0.ln_2.bias", "h.0.attn.c_proj.bias"});
  CHECK(names(4) == Names{"h.1.attn.c_attn.weight", "h.1.attn.c_proj.weight",
                          "h.1.attn.c_attn.bias", "h.1.ln_1.weight", "h.1.ln_1.bias",
                          "h.0.mlp.c_proj.bias"});
  CHECK(names(6) == Names{"ln_f.weight", "ln_f.bias", "h.1.mlp.c_proj.bias"});
}

TEST_CASE(
    "the graph is sound: slots name what exists, outputs say what they come from, writers come "
    "before readers") {
  Gpt2Dims dims = small;
  dims.dropout = GENERATE(0.0, 0.1);
  const DType compute = GENERATE(DType::f32, DType::bf16);
  const auto graph = graph_of(dims, 3, 7, compute);
  CHECK(graph.blocks.size() == 6);
  CHECK(graph.tokens == 21);
  std::set<int> written;
  for (const auto& block : graph.blocks) {
    INFO(block.name);
    for (const auto& [op, phase] : block.phases) {
      std::set<int> slots;
      for (const auto& u : phase.uses) {
        REQUIRE(u.slot < static_cast<int>(block.slots.size()));
        CHECK(slots.insert(u.slot).second);
        const auto& s = block.slots[u.slot];
        CHECK(!s.name.empty());
        CHECK(s.tensor.elements() > 0);
        if (s.role == program::Role::value) {
          CHECK(s.tensor.bytes() == graph.values.at(s.index).bytes());
          if (u.how == program::How::read && op != program::Op::backward)
            CHECK(written.count(s.index) == 1);
          if (u.how != program::How::read) written.insert(s.index);
        }
        if (op != program::Op::forward || u.how == program::How::read) continue;
        CHECK(!s.from.empty());
        // listed before: a read or an earlier output
        for (int from : s.from) CHECK(slots.count(from) == 1);
      }
    }
  }
  CHECK_THROWS_AS(graph_of(dims, 3, 11, compute), InternalError);
}

TEST_CASE("floating-point operations of a step are those of the usual count") {
  Gpt2Dims dims = sizes(Gpt2Options{}).front().second;
  const std::int64_t T = 1024, B = 2;
  const auto graph = graph_of(dims, B, T, DType::bf16);
  double gemm = 0, attention = 0;
  for (const auto& block : graph.blocks)
    for (const auto& [op, phase] : block.phases)
      if (op == program::Op::forward || op == program::Op::backward || op == program::Op::loss) {
        gemm += phase.gemm_flops();
        attention += phase.attention_flops;
      }
  // 6 per weight of a matrix (wte once, padded) and token; attention 12 T C per token and layer,
  // half of it under the causal mask, and a fifth product.
  const double tokens = static_cast<double>(B * T),
               weights = 12.0 * (12 * 768 * 768) + 50304.0 * 768;
  CHECK(std::abs(gemm / (6 * weights * tokens) - 1) < 1e-12);
  CHECK(std::abs(attention / (tokens * 12 * (14.0 * (T + 1) / 2 * 768)) - 1) < 1e-12);
}

TEST_CASE("the head's chunk keeps logits at 8 MiB") {
  for (std::int64_t vocabulary : {1, 500, 50257, 3000000}) {
    Gpt2Dims dims = small;
    dims.vocab_size = vocabulary;
    const auto graph = graph_of(dims, 64, 10, DType::f32);
    const auto& slots = graph.blocks.back().slots;
    const auto& chunk =
        slots.at(static_cast<std::size_t>(graph.composition->blocks.back()->last_logits)).tensor;
    INFO(vocabulary);
    CHECK(chunk.dims[0] >= 1);
    CHECK(chunk.dims[0] <= 640);
    CHECK((chunk.dims[0] == 1 || chunk.bytes() <= 8 << 20));
    CHECK((chunk.dims[0] == 640 || (chunk.dims[0] + 1) * chunk.dims[1] * 4 > 8 << 20));
  }
}

TEST_CASE("packing and unpacking transpose, pad, and come back") {
  for (const auto& g : gpt2_groups(small))
    for (const auto& p : g.parameters) {
      INFO(p.name);
      std::vector<float> memory(g.elements, -1), saved(saved_elements(p)), again(saved.size());
      for (std::size_t i = 0; i < saved.size(); ++i) saved[i] = static_cast<float>(i + 1);
      std::fill_n(memory.begin() + p.offset, p.elements(), 0.0f);
      const Rows all = saved_rows(p);
      // in two parts, or one and nothing
      for (const std::int64_t cut : {all.end / 3, all.end}) {
        std::ranges::fill(again, -2.0f);
        for (const Rows rows : {Rows{cut, all.end}, Rows{0, cut}})
          unpack_saved(p, saved, memory.data(), rows);
        for (const Rows rows : {Rows{cut, all.end}, Rows{0, cut}})
          pack_saved(p, memory.data(), again, rows);
        CHECK(again == saved);
      }
      CHECK(std::count(memory.begin() + p.offset, memory.begin() + p.offset + p.elements(), 0.0f) ==
            p.elements() - static_cast<std::int64_t>(saved.size()));
      CHECK(std::count(memory.begin(), memory.end(), -1.0f) == g.elements - p.elements());
      // element [0, 1] inside is [1, 0] in the file
      if (p.saved_transposed) CHECK(memory[p.offset + 1] == saved[p.dims[0]]);
      std::vector<float> wrong(saved.size() + 1);
      CHECK_THROWS_AS(unpack_saved(p, wrong, memory.data(), all), InternalError);
    }
}

TEST_CASE("config.json comes back as written") {
  for (auto [name, dims] : sizes(Gpt2Options{})) {
    dims.intermediate_size += 64;
    dims.layer_norm_epsilon = 1e-6;
    const Gpt2Dims back = from_config(config_text(dims, DType::f32), "config.json");
    CHECK(back.num_layers == dims.num_layers);
    CHECK(back.num_heads == dims.num_heads);
    CHECK(back.hidden_size == dims.hidden_size);
    CHECK(back.intermediate_size == dims.intermediate_size);
    CHECK(back.max_positions == dims.max_positions);
    CHECK(back.vocab_size == dims.vocab_size);
    CHECK(back.layer_norm_epsilon == dims.layer_norm_epsilon);
  }
}

TEST_CASE("config.json of a GPT-2 with experts has a model_type of its own, and comes back") {
  Gpt2Dims dims = small;
  dims.num_experts = 6;
  dims.num_experts_per_tok = 2;
  dims.decoder_sparse_step = 1;
  dims.capacity_factor = 0.75;
  dims.router_aux_loss_coef = 0.5;
  nlohmann::json config = nlohmann::json::parse(config_text(dims, DType::f32));
  CHECK(config["model_type"] == "gpt2_moe");
  const Gpt2Dims back = from_config(config.dump(), "config.json");
  CHECK(back.num_experts == 6);
  CHECK(back.num_experts_per_tok == 2);
  CHECK(back.decoder_sparse_step == 1);
  CHECK(back.capacity_factor == 0.75);
  CHECK(back.router_aux_loss_coef == 0.5);
  CHECK(architecture_name(back) == "gpt2");
  config["num_experts_per_tok"] = 7;
  CHECK(user_error_of([&] { from_config(config.dump(), "c"); }).find("num_experts_per_tok (7)") !=
        std::string::npos);
  config["num_experts_per_tok"] = 1;
  config["decoder_sparse_step"] = 3;
  CHECK(user_error_of([&] { from_config(config.dump(), "c"); }).find("decoder_sparse_step (3)") !=
        std::string::npos);
  // a dense one has no experts, whatever its file says of them
  config["model_type"] = "gpt2";
  CHECK(from_config(config.dump(), "c").num_experts == 0);
}

TEST_CASE("keys of GPT-2 from which no number follows are known, as folders have them") {
  using nlohmann::json;
  const Gpt2Dims dims = sizes(Gpt2Options{}).front().second;
  json config = json::parse(config_text(dims, DType::f32));
  const Gpt2Dims plain = from_config(config.dump(), "config.json");
  // as transformers writes them, and as folders of its first versions have them
  config.update(json::parse(R"({"add_cross_attention": false, "bos_token_id": 50256,
    "dtype": "float32", "eos_token_id": 50256, "pad_token_id": null, "summary_activation": null,
    "summary_first_dropout": 0.1, "summary_proj_to_labels": true, "summary_type": "cls_index",
    "summary_use_proj": true, "transformers_version": "5.23.0", "use_cache": true, "n_ctx": 1024,
    "n_special": 0, "predict_special_tokens": true, "gradient_checkpointing": false,
    "output_past": true, "_num_labels": 1, "id2label": {"0": "a"}, "label2id": {"a": 0},
    "task_specific_params": {"text-generation": {"do_sample": true, "max_length": 50}},
    "later_setting": null})"));
  CHECK(from_config(config.dump(), "config.json") == plain);
}

TEST_CASE("a config.json that trainx does not compute is refused by the key's name") {
  using nlohmann::json;
  // As the folder `gpt2` on the Hugging Face hub has it, shortened.
  const json good = json::parse(
      R"({"activation_function": "gelu_new", "architectures": ["GPT2LMHeadModel"], "attn_pdrop": 0.1, "embd_pdrop": 0.1, "initializer_range": 0.02,
    "layer_norm_epsilon": 1e-05, "model_type": "gpt2", "n_ctx": 1024, "n_embd": 768, "n_head": 12, "n_layer": 12, "n_positions": 1024, "n_inner": null, "resid_pdrop": 0.1,
    "summary_type": "cls_index", "vocab_size": 50257})");
  const Gpt2Dims dims = from_config(good.dump(), "here/config.json");
  CHECK(dims.intermediate_size == 3072);
  CHECK(dims.dropout == 0.1);
  CHECK(dims.attention_dropout == 0.1);
  CHECK(dropout_remarks(good.dump(), "here/config.json", Gpt2Dims{.dropout = 0.1}).empty());
  json differing = good;
  differing["embd_pdrop"] = 0.25;
  const auto remarks =
      dropout_remarks(differing.dump(), "here/config.json", Gpt2Dims{.dropout = 0.1});
  REQUIRE(remarks.size() == 1);
  CHECK(remarks[0].find("embd_pdrop 0.25") != std::string::npos);
  // the user chose another
  CHECK(dropout_remarks(differing.dump(), "c", Gpt2Dims{.dropout = 0.3}).empty());
  differing["attn_pdrop"] = differing["embd_pdrop"] = differing["resid_pdrop"] = 0.0;
  CHECK(from_config(differing.dump(), "c").dropout == 0);
  CHECK(from_config(differing.dump(), "c").attention_dropout == 0);
  CHECK(dropout_remarks(differing.dump(), "c", Gpt2Dims{.dropout = 0}).empty());
  json silent = good;
  silent.erase("resid_pdrop");
  CHECK(from_config(silent.dump(), "c").dropout == 0.1);  // transformers' default

  const std::vector<std::pair<std::string, json>> changes{{"model_type", "gptj"},
                                                          {"activation_function", "relu"},
                                                          {"scale_attn_by_inverse_layer_idx", true},
                                                          {"scale_attn_weights", false},
                                                          {"reorder_and_upcast_attn", true},
                                                          {"add_cross_attention", true},
                                                          {"n_layer", 0},
                                                          {"n_head", 5},
                                                          {"n_embd", "768"},
                                                          {"n_positions", -1},
                                                          {"vocab_size", 3.5},
                                                          {"layer_norm_epsilon", 0},
                                                          {"n_inner", 0},
                                                          {"n_inner", std::int64_t{1} << 32},
                                                          {"resid_pdrop", 1},
                                                          {"resid_pdrop", "0.1"}};
  for (const auto& [key, value] : changes) {
    json bad = good;
    bad[key] = value;
    INFO(key);
    try {
      from_config(bad.dump(), "here/config.json");
      FAIL("accepted");
    } catch (const UserError& e) {
      CHECK(e.code() == ExitCode::bad_data);
      CHECK(std::string(e.what()).find("here/config.json: ") == 0);
      CHECK(std::string(e.what()).find(key) != std::string::npos);
    }
  }
  json widest = good;  // without n_inner it is four times as much
  widest["n_head"] = 16;
  widest["n_embd"] = std::int64_t{1} << 30;
  widest.erase("n_inner");
  CHECK_THROWS_AS(from_config(widest.dump(), "config.json"), UserError);
  widest["n_inner"] = 64;
  CHECK(from_config(widest.dump(), "config.json").hidden_size == std::int64_t{1} << 30);
  for (const char* missing :
       {"n_layer", "n_head", "n_embd", "n_positions", "vocab_size", "model_type"}) {
    json bad = good;
    bad.erase(missing);
    CHECK_THROWS_AS(from_config(bad.dump(), "config.json"), UserError);
  }
  for (const char* text : {"", "{", "[]", "{\"n_layer\": 1}"})
    CHECK_THROWS_AS(from_config(text, "config.json"), UserError);
  try {
    read_config("/nowhere");
    FAIL("accepted");
  } catch (const UserError& e) { CHECK(e.code() == ExitCode::input_missing); }
}

}  // namespace gpt2_test
