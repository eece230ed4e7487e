// BART (Lewis et al. 2019, arXiv:1910.13461), whose norms follow its sums, and mBART (Liu et al.
// 2020, arXiv:2001.08210), whose norms precede them.
#include "architectures/families/family.hpp"
#include "architectures/families/seq2seq_family.hpp"
#include <cmath>

namespace trainx::architectures {
namespace {

using nlohmann::json;

SideNames side(const std::string& name, bool final_norm) {
  const std::string of_side = "model." + name + ".";
  const auto attention = [](const std::string& below) {
    return SideNames::Attention{{below + ".q_proj", below + ".k_proj", below + ".v_proj"},
                                below + ".out_proj",
                                below + "_layer_norm"};
  };
  return {.layers = of_side + "layers",
          .position = of_side + "embed_positions",
          .embedding_norm = of_side + "layernorm_embedding",
          .final_norm = final_norm ? of_side + "layer_norm" : "",
          .attention = attention("self_attn"),
          .cross = attention("encoder_attn"),
          .up = {"fc1"},
          .down = "fc2",
          .norm = "final_layer_norm"};
}

/// Keys that older folders have: each says in another way what the family is.
void require_older(const ConfigReader& f, const Seq2SeqDims& d) {
  f.require("normalize_before", {d.norms_before});
  f.require("add_final_layer_norm", {d.norms_before});
  f.require("normalize_embedding", {true});
  f.require("add_bias_logits", {false});
  f.require("static_position_embeddings", {false});
  f.require("extra_pos_embeddings", {2});
  f.require("num_hidden_layers", {d.num_layers});
  f.find("gradient_checkpointing");
}

void bart(const ConfigReader& f, Seq2SeqDims& d) {
  d.norms_before = d.family == "mbart";
  f.require("is_encoder_decoder", {true});
  f.require("is_decoder", {false});
  f.require("tie_word_embeddings", {true});
  f.require("encoder_layerdrop", {0.0});
  f.require("decoder_layerdrop", {0.0});
  d.num_layers = f.dimension("encoder_layers", 12);
  d.num_decoder_layers = f.dimension("decoder_layers", 12);
  d.num_heads = f.dimension("encoder_attention_heads", 16);
  d.num_decoder_heads = f.dimension("decoder_attention_heads", 16);
  d.intermediate_size = f.dimension("encoder_ffn_dim", 4096);
  d.decoder_intermediate_size = f.dimension("decoder_ffn_dim", 4096);
  d.hidden_size = f.dimension("d_model", 1024);
  d.max_positions = f.dimension("max_position_embeddings", 1024);
  d.vocab_size = f.dimension("vocab_size", 50265);
  for (const std::int64_t heads : {d.num_heads, d.num_decoder_heads})
    if (d.hidden_size % heads != 0)
      f.fail("d_model (" + std::to_string(d.hidden_size) + ") must be a multiple of the heads (" +
             std::to_string(heads) + ")");
  require_older(f, d);
  const json* activation = f.find("activation_function");
  d.activation =
      activation_named(f, "activation_function", activation ? *activation : json("gelu"));
  d.dropout = f.dropout("dropout");
  d.attention_dropout = f.number("attention_dropout", 0, unit_interval());
  d.activation_dropout = f.number("activation_dropout", 0, unit_interval());
  d.initializer_range = f.number("init_std", 0.02, positive());
  if (f.flag("scale_embedding", false))
    d.embedding_scale = std::sqrt(static_cast<double>(d.hidden_size));
  d.first_position = 2;
  d.embedding = "model.shared";
  d.constant_bias = "final_logits_bias";
  d.encoder = side("encoder", d.norms_before);
  d.decoder = side("decoder", d.norms_before);
}

}  // namespace

std::vector<Seq2SeqFamily> bart_families() {
  const Seq2SeqFamily::SizeKeys keys{
      "encoder_layers", "decoder_layers",  "encoder_attention_heads", nullptr,
      "d_model",        "encoder_ffn_dim", "max_position_embeddings", "decoder_attention_heads",
      "decoder_ffn_dim"};
  const Seq2SeqFamily::Dropouts dropouts{"dropout", "attention_dropout", "activation_dropout"};
  return {
      {"bart",
       "BART: encoder and decoder with learned positions and post-norm, for seq2seq",
       bart,
       keys,
       dropouts,
       {.pad = 1, .start = 2},
       {{"base", R"({"d_model": 768, "encoder_layers": 6, "decoder_layers": 6,
                     "encoder_attention_heads": 12, "decoder_attention_heads": 12,
                     "encoder_ffn_dim": 3072, "decoder_ffn_dim": 3072, "vocab_size": 50265,
                     "max_position_embeddings": 1024, "dropout": 0.0})"},
        {"large", R"({"d_model": 1024, "vocab_size": 50265, "max_position_embeddings": 1024,
                      "dropout": 0.0})"}}},
      {"mbart",
       "mBART: BART for many languages, pre-norm, for seq2seq",
       bart,
       keys,
       dropouts,
       // where targets wrap it begins what is generated alone
       {.pad = 1, .start = -1, .wrap = true},
       {{"large", R"({"d_model": 1024, "vocab_size": 250027, "max_position_embeddings": 1024,
                      "scale_embedding": true, "dropout": 0.0})"}}},
  };
}

}  // namespace trainx::architectures
