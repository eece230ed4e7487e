// T5 (Raffel et al. 2019, arXiv:1910.10683): v1.0 with relu and a tied head, v1.1 and Flan with
// gated gelu and a head of its own.
#include "architectures/families/family.hpp"
#include "architectures/families/seq2seq_family.hpp"
#include <cmath>

namespace trainx::architectures {
namespace {

using nlohmann::json;

SideNames side(const std::string& name, const char* mlp_layer, bool gated) {
  const auto attention = [](const std::string& layer, const std::string& kind) {
    const std::string below = "layer." + layer + "." + kind + ".";
    return SideNames::Attention{
        {below + "q", below + "k", below + "v"}, below + "o", "layer." + layer + ".layer_norm"};
  };
  const std::string mlp = std::string("layer.") + mlp_layer + ".DenseReluDense.";
  SideNames n{.layers = name + ".block",
              .final_norm = name + ".final_layer_norm",
              .bias = name + ".block.0.layer.0.SelfAttention.relative_attention_bias",
              .attention = attention("0", "SelfAttention"),
              .cross = attention("1", "EncDecAttention"),
              .up = {mlp + "wi"},
              .down = mlp + "wo",
              .norm = std::string("layer.") + mlp_layer + ".layer_norm"};
  if (gated) n.up = {mlp + "wi_0", mlp + "wi_1"};
  return n;
}

void read_activation(const ConfigReader& f, Seq2SeqDims& d) {
  const json* j = f.find("feed_forward_proj");
  const json value = j ? *j : json("relu");
  std::string name = value.is_string() ? value.get<std::string>() : "";
  d.gated = name.starts_with("gated-");
  if (d.gated) name.erase(0, 6);
  // the first that were gated had the approximation
  if (d.gated && name == "gelu") name = "gelu_new";
  if (name.empty()) f.fail("feed_forward_proj is " + shown(value) + "; it must be a name");
  // what follows from it stands in folders, too, and is what transformers goes by
  d.gated = f.flag("is_gated_act", d.gated);
  const json* own = f.find("dense_act_fn");
  d.activation = own ? activation_named(f, "dense_act_fn", *own)
                     : activation_named(f, "feed_forward_proj", json(name));
}

void read_bias(const ConfigReader& f, Seq2SeqDims& d) {
  d.bias.buckets = f.dimension("relative_attention_num_buckets", 32);
  d.bias.max_distance = f.dimension("relative_attention_max_distance", 128);
  // the encoder has half of them on each side, and half of those are of one distance each
  if (d.bias.buckets < 4)
    f.fail("relative_attention_num_buckets is " + std::to_string(d.bias.buckets) +
           "; it must be at least 4");
  if (d.bias.max_distance <= d.bias.buckets / 2)
    f.fail("relative_attention_max_distance (" + std::to_string(d.bias.max_distance) +
           ") must be more than half of relative_attention_num_buckets (" +
           std::to_string(d.bias.buckets) + ")");
}

void t5(const ConfigReader& f, Seq2SeqDims& d) {
  f.require("is_encoder_decoder", {true});
  f.require("is_decoder", {false});
  d.num_layers = f.dimension("num_layers", 6);
  d.num_decoder_layers = f.dimension("num_decoder_layers", d.num_layers);
  d.num_heads = d.num_decoder_heads = f.dimension("num_heads", 8);
  d.head_size = f.dimension("d_kv", 64);
  d.hidden_size = f.dimension("d_model", 512);
  d.intermediate_size = d.decoder_intermediate_size = f.dimension("d_ff", 2048);
  d.vocab_size = f.dimension("vocab_size", 32128);
  d.max_positions = std::int64_t{1} << 24;  // it knows distances alone
  read_activation(f, d);
  read_bias(f, d);
  d.layer_norm_epsilon = f.number("layer_norm_epsilon", 1e-6, positive());
  d.dropout = d.attention_dropout = d.activation_dropout = f.dropout("dropout_rate");
  d.initializer_range = f.number("initializer_factor", 1, positive());
  d.widths_scale_weights = d.rms = d.norms_before = d.drops_output = true;
  d.biases = false, d.score_scale = 1;
  // transformers writes that all heads are tied, also of folders with a head of their own. Another
  // key says if the decoder's output is scaled, as only models with tied heads scale it.
  const bool ties = f.flag("tie_word_embeddings", true);
  const bool scales = f.nullable_flag("scale_decoder_outputs", ties);
  using enum Seq2SeqDims::Head;
  d.head_is = !scales ? open : ties ? embedding : own;
  if (scales) d.logit_scale = 1 / std::sqrt(static_cast<double>(d.hidden_size));
  d.encoder = side("encoder", "1", d.gated);
  d.decoder = side("decoder", "2", d.gated);
}

}  // namespace

std::vector<Seq2SeqFamily> t5_families() {
  const Seq2SeqFamily::SizeKeys keys{
      "num_layers", "num_decoder_layers", "num_heads", "d_kv", "d_model", "d_ff", nullptr};
  const Seq2SeqFamily::Dropouts one_rate{"dropout_rate"};
  return {
      {"t5",
       "T5, v1.1 and Flan: encoder and decoder with biases by distance, for seq2seq",
       t5,
       keys,
       one_rate,
       {.pad = 0, .start = {}, .pad_row_is_zero = false},
       {{"small", R"({"d_model": 512, "d_kv": 64, "d_ff": 2048, "num_layers": 6, "num_heads": 8,
                      "vocab_size": 32128, "dropout_rate": 0.0, "decoder_start_token_id": 0})"},
        {"base", R"({"d_model": 768, "d_kv": 64, "d_ff": 3072, "num_layers": 12, "num_heads": 12,
                     "vocab_size": 32128, "dropout_rate": 0.0, "decoder_start_token_id": 0})"},
        {"large", R"({"d_model": 1024, "d_kv": 64, "d_ff": 4096, "num_layers": 24,
                      "num_heads": 16, "vocab_size": 32128, "dropout_rate": 0.0,
                      "decoder_start_token_id": 0})"},
        {"v1_1_small", R"({"d_model": 512, "d_kv": 64, "d_ff": 1024, "num_layers": 8,
                           "num_heads": 6, "vocab_size": 32128, "dropout_rate": 0.0,
                           "feed_forward_proj": "gated-gelu", "tie_word_embeddings": false,
                           "decoder_start_token_id": 0})"},
        {"v1_1_base", R"({"d_model": 768, "d_kv": 64, "d_ff": 2048, "num_layers": 12,
                          "num_heads": 12, "vocab_size": 32128, "dropout_rate": 0.0,
                          "feed_forward_proj": "gated-gelu", "tie_word_embeddings": false,
                          "decoder_start_token_id": 0})"}}},
  };
}

}  // namespace trainx::architectures
