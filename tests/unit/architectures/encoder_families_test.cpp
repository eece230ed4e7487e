// Families of encoders beside BERT: sizes, names of tensors, keys of config.json.
#include "core/error.hpp"
#include "architectures/architecture.hpp"
#include "architectures/families/encoder_family.hpp"
#include "architectures/saved_layout.hpp"
#include "graph/to_blocks.hpp"
#include <map>
#include <nlohmann/json.hpp>
#include "support/catch.hpp"

namespace encoder_families_test {

using namespace trainx;
using namespace trainx::architectures;
using nlohmann::json;

namespace {

BertDims size_of(std::string_view family, std::size_t which, Task task) {
  BertDims d = encoder_family(family).sizes.at(which).second;
  d.task = task;
  d.num_labels = has_labels(task) ? 2 : 0;
  return d;
}

std::int64_t parameters(const BertDims& dims) {
  std::int64_t n = 0;
  for (const auto& g : graph_of(dims, 1, 1, DType::f32).groups)
    for (const auto& p : g.parameters) n += saved_elements(p);
  return n;
}

json config_of(const BertDims& d) { return json::parse(config_text(d, DType::f32)); }

BertDims read(const json& config) {
  return std::get<BertDims>(dims_from_config(config.dump(), "c"));
}

std::string complaint(BertOptions o, BertDims d) {
  try {
    take_settings(o, d);
  } catch (const UserError& e) {
    CHECK(e.code() == ExitCode::invalid_recipe);
    return e.what();
  }
  return "";
}

}  // namespace

TEST_CASE("published sizes of encoders have transformers' numbers of parameters") {
  CHECK(parameters(size_of("distilbert", 0, Task::masked_lm)) == 66985530);
  CHECK(parameters(size_of("distilbert", 0, Task::classification)) == 66955010);
  CHECK(parameters(size_of("electra", 0, Task::token_classification)) == 13483522);
  CHECK(parameters(size_of("electra", 0, Task::masked_lm)) == 13546682);
  CHECK(parameters(size_of("electra", 1, Task::classification)) == 109483778);
  CHECK(parameters(size_of("electra", 2, Task::classification)) == 335143938);
  CHECK(parameters(size_of("modernbert", 0, Task::masked_lm)) == 149655232);
  CHECK(parameters(size_of("modernbert", 0, Task::classification)) == 149606402);
  CHECK(parameters(size_of("modernbert", 1, Task::masked_lm)) == 395881664);
}

TEST_CASE("a config.json of each encoder comes back as written, with what is not read") {
  for (const EncoderFamily& family : encoder_families())
    for (const Task task : {Task::masked_lm, Task::classification, Task::token_classification}) {
      INFO(family.name << " " << name_of(task));
      BertDims d = size_of(family.name, 0, task);
      d.config = R"({"architectures": ["Other"], "use_cache": true, "prefix": [1, 2]})";
      const json written = config_of(d);
      CHECK(written["prefix"] == json::array({1, 2}));
      CHECK(written["model_type"] == family.name);
      BertDims back = read(written);
      CHECK(back.head == task);
      CHECK(config_of(back) == written);
      back.config = d.config;
      back.head.reset();
      back.labels.clear();
      CHECK(back == d);
    }
}

TEST_CASE("encoders of a kind that trainx does not compute are refused by the key's name") {
  const auto refused = [](json config, const std::string& key, const json& value) {
    INFO(key << " " << value.dump());
    config[key] = value;
    try {
      read(config);
      FAIL("accepted");
    } catch (const UserError& e) {
      CHECK(e.code() == ExitCode::bad_data);
      CHECK(std::string(e.what()).find(key) != std::string::npos);
    }
  };
  for (const EncoderFamily& family : encoder_families())
    for (const Task task : {Task::masked_lm, Task::classification, Task::token_classification}) {
      json config = config_of(size_of(family.name, 0, task));
      refused(config, "per_layer_config", {{"0", 1}});
      const BertDims plain = read(config);
      config["use_other_norms"] = true;  // which transformers does not read
      BertDims same = read(config);
      same.config = plain.config;
      CHECK(same == plain);
    }
  const json distilbert = config_of(size_of("distilbert", 0, Task::masked_lm)),
             electra = config_of(size_of("electra", 0, Task::masked_lm));
  refused(distilbert, "activation", "relu");
  refused(distilbert, "sinusoidal_pos_embds", true);
  refused(distilbert, "tie_word_embeddings", false);
  refused(distilbert, "n_heads", 5);
  refused(distilbert, "dim", 0);
  const json modernbert = config_of(size_of("modernbert", 0, Task::masked_lm));
  refused(modernbert, "hidden_activation", "relu");
  refused(modernbert, "classifier_activation", "silu");
  refused(modernbert, "classifier_pooling", "max");
  refused(modernbert, "mlp_dropout", 0.1);
  refused(modernbert, "attention_dropout", 0.1);
  refused(modernbert, "local_attention", 0);
  refused(modernbert, "layer_types", {"full_attention"});
  refused(modernbert, "layer_types", std::vector<std::string>(22, "other"));
  refused(modernbert, "norm_bias", 1);
  refused(modernbert, "num_attention_heads", 256);
  refused(modernbert, "rope_parameters",
          {{"full_attention", {{"rope_type", "linear"}, {"factor", 2.0}}}});
  refused(electra, "hidden_act", "relu");
  refused(electra, "embedding_size", 0);
  refused(electra, "embedding_size", "128");
  refused(electra, "pad_token_id", -1);
}

TEST_CASE("keys from which no number follows are known, as files on the hub have them") {
  const auto takes = [](std::string_view family, const json& more) {
    json config = config_of(size_of(family, 0, Task::masked_lm));
    const BertDims plain = read(config);
    config.update(more);
    BertDims d = read(config);
    d.config = plain.config;
    CHECK(d == plain);
  };
  for (const EncoderFamily& family : encoder_families())
    takes(family.name,
          json::parse(R"({"gradient_checkpointing": false, "output_past": true, "xla_device": true,
    "torchscript": true, "id2label": {"0": "a"}, "label2id": {"a": 0},
    "transformers_version": "5.0.0", "bos_token_id": 0, "sep_token_id": 2, "use_cache": true,
    "is_encoder_decoder": false, "chunk_size_feed_forward": 0, "_num_labels": 3,
    "finetuning_task": null, "later_setting": null})"));
  takes("bert",
        json::parse(R"({"classifier_dropout": 0.3, "directionality": "bidi", "pooler_fc_size": 768,
    "pooler_num_attention_heads": 12, "pooler_num_fc_layers": 3, "pooler_size_per_head": 128,
    "pooler_type": "first_token_transform"})"));
  takes("distilbert", json::parse(R"({"qa_dropout": 0.1, "seq_classif_dropout": 0.2,
    "tie_weights_": true})"));
  takes("electra", json::parse(R"({"summary_type": "first", "summary_use_proj": true,
    "summary_activation": "gelu", "summary_last_dropout": 0.1})"));
  takes("modernbert", json::parse(R"({"classifier_dropout": 0.0, "sparse_prediction": false,
    "sparse_pred_ignore_index": -100, "deterministic_flash_attn": false,
    "reference_compile": true, "repad_logits_with_grad": false, "initializer_cutoff_factor": 2.0,
    "layer_norm_eps": 1e-5, "position_embedding_type": "absolute"})"));
}

TEST_CASE("options that an encoder does not have are refused") {
  const BertDims distilbert = size_of("distilbert", 0, Task::masked_lm),
                 bert = size_of("bert", 0, Task::masked_lm);
  BertDims discriminator = size_of("electra", 0, Task::masked_lm);
  discriminator.discriminates = true;
  CHECK(complaint({.name = "distilbert"}, distilbert).empty());
  CHECK(complaint({.name = "distilbert", .type_vocab_size = 2}, distilbert)
            .starts_with("model.options.type_vocab_size"));
  CHECK(complaint({.name = "bert", .embedding_size = 2}, bert)
            .starts_with("model.options.embedding_size"));
  const auto& electra = *std::ranges::find(BertOptions::described(), "electra", &BertOptions::name);
  CHECK(complaint(electra, discriminator).starts_with("model.options.task"));
  BertOptions labels = electra;
  labels.task = Task::token_classification;
  labels.num_labels = 3;
  CHECK(complaint(labels, discriminator).empty());
}

TEST_CASE("a discriminator's folder has no head that trainx learns") {
  json config = config_of(size_of("electra", 0, Task::masked_lm));
  config["architectures"] = json::array({"ElectraForPreTraining"});
  const BertDims d = read(config);
  CHECK(d.discriminates);
  CHECK(d.head == std::nullopt);
  CHECK(parameter_of(d, "discriminator_predictions.dense.weight").empty());
  CHECK(parameter_of(d, "embeddings_project.bias") == "electra.embeddings_project.bias");
  CHECK(parameter_of(d, "generator_lm_head.weight").empty());
  CHECK(parameter_of(d, "generator_lm_head.bias") == "generator_lm_head.bias");
  CHECK(parameter_of(d, "classifier.weight").empty());
}

TEST_CASE("a modernbert's layers look everywhere by name, else every so many; both spellings") {
  json config = config_of(size_of("modernbert", 0, Task::masked_lm));
  const BertDims named = read(config);
  for (const char* key : {"layer_types", "rope_parameters", "classifier_pooling"})
    config.erase(key);
  CHECK(read(config).global_rope.theta == 160000);
  CHECK(read(config).local_rope.theta == 10000);
  CHECK_FALSE(read(config).pools_mean);
  config["global_attn_every_n_layers"] = 4;
  config["global_rope_theta"] = 5.0;
  config["local_rope_theta"] = 7.0;
  config["local_attention"] = 9;
  const BertDims old = read(config);
  CHECK(old.global_rope.theta == 5);
  CHECK(old.local_rope.theta == 7);
  CHECK(old.window == 5);  // 4 keys on either side
  for (std::int64_t i = 0; i < 22; ++i) {
    CHECK(named.looks_everywhere(i) == (i % 3 == 0));
    CHECK(old.looks_everywhere(i) == (i % 4 == 0));
  }
}

TEST_CASE("a modernbert's layers with windows are attention with a window on both sides") {
  BertDims dims = size_of("modernbert", 0, Task::masked_lm);
  std::vector<std::int64_t> windows;
  const program::ModelGraph graph = graph_of(dims, 2, 16, DType::f32);
  for (const auto& block : graph.composition->blocks)
    for (const operations::BoundOp& op : block->forward)
      if (const auto* a = std::get_if<operations::Attention>(&op.operation)) {
        CHECK(a->mask == operations::AttentionMask::lengths);
        windows.push_back(a->window);
      }
  REQUIRE(windows.size() == 22);
  for (std::size_t i = 0; i < windows.size(); ++i) CHECK(windows[i] == (i % 3 == 0 ? 0 : 65));
  CHECK(has_own_attention(dims));
  CHECK(mixes_windows(dims));
  CHECK(without_gpu_kernel(dims).empty());
  dims.global_layers.assign(22, true);
  CHECK_FALSE(has_own_attention(dims));
  CHECK_FALSE(mixes_windows(dims));
  CHECK(without_gpu_kernel(dims).empty());
}

}  // namespace encoder_families_test
