#include "architectures/gpt2_config.hpp"
#include "core/error.hpp"
#include "architectures/config_reader.hpp"
#include <nlohmann/json.hpp>

namespace trainx::architectures {

using nlohmann::json;

Gpt2Dims gpt2_dims_from_config(const std::string& text, const std::string& path) {
  const ConfigReader config(text, path);
  config.model_type({"gpt2"});
  config.require("activation_function", {"gelu_new", "gelu_pytorch_tanh"});
  config.require("scale_attn_weights", {true});
  config.require("scale_attn_by_inverse_layer_idx", {false});
  config.require("reorder_and_upcast_attn", {false});
  config.require("add_cross_attention", {false});
  config.require("tie_word_embeddings", {true});
  Gpt2Dims dims;
  dims.num_layers = config.dimension("n_layer");
  dims.num_heads = config.dimension("n_head");
  dims.hidden_size = config.dimension("n_embd");
  dims.intermediate_size = config.dimension("n_inner", 4 * dims.hidden_size);
  dims.max_positions = config.dimension("n_positions");
  dims.vocab_size = config.dimension("vocab_size");
  dims.layer_norm_epsilon = config.number("layer_norm_epsilon", 1e-5, positive());
  dims.dropout = config.dropout("resid_pdrop");
  if (dims.hidden_size % dims.num_heads != 0)
    config.fail("n_embd (" + std::to_string(dims.hidden_size) + ") must be a multiple of n_head (" +
                std::to_string(dims.num_heads) + ")");
  return dims;
}

std::vector<std::string> gpt2_dropout_remarks(const std::string& text, const std::string& path,
                                              double dropout) {
  const ConfigReader config(text, path);
  const double residual = config.dropout("resid_pdrop"), embedding = config.dropout("embd_pdrop"),
               attention = config.dropout("attn_pdrop");
  std::vector<std::string> out;
  if (embedding != residual && dropout == residual)
    out.push_back(path + " has resid_pdrop " + json(residual).dump() + " and embd_pdrop " +
                  json(embedding).dump() + "; trainx has one dropout for both and takes " +
                  json(residual).dump() + " (model.options.dropout sets another)");
  if (attention > 0) out.push_back(no_attention_dropout(path, attention));
  return out;
}

std::string gpt2_config_text(const Gpt2Dims& d, DType saved) {
  const char* dtype = saved == DType::f32 ? "float32" : saved == DType::bf16 ? "bfloat16" : nullptr;
  if (!dtype) throw InternalError("gpt2_config_text: weights are saved as f32 or bf16");
  const json config{{"architectures", {"GPT2LMHeadModel"}},
                    {"model_type", "gpt2"},
                    {"activation_function", "gelu_new"},
                    {"n_layer", d.num_layers},
                    {"n_head", d.num_heads},
                    {"n_embd", d.hidden_size},
                    {"n_inner", d.intermediate_size},
                    {"n_positions", d.max_positions},
                    {"n_ctx", d.max_positions},
                    {"vocab_size", d.vocab_size},
                    {"layer_norm_epsilon", d.layer_norm_epsilon},
                    {"resid_pdrop", d.dropout},
                    {"embd_pdrop", d.dropout},
                    {"attn_pdrop", 0.0},
                    {"initializer_range", d.initializer_range},
                    {"scale_attn_weights", true},
                    {"scale_attn_by_inverse_layer_idx", false},
                    {"reorder_and_upcast_attn", false},
                    {"tie_word_embeddings", true},
                    {"torch_dtype", dtype},
                    // Ids of the beginning and the end of a text; transformers' own default, 50256,
                    // lies beyond a small vocabulary.
                    {"bos_token_id", d.vocab_size == 50257 ? json(50256) : json()},
                    {"eos_token_id", d.vocab_size == 50257 ? json(50256) : json()}};
  return config.dump(2) + "\n";
}

std::string gpt2_parameter_name(std::string_view saved_name) {
  constexpr std::string_view prefix = "transformer.";
  if (saved_name.starts_with(prefix)) saved_name.remove_prefix(prefix.size());
  if (saved_name == "lm_head.weight" || saved_name.ends_with(".attn.bias") ||
      saved_name.ends_with(".attn.masked_bias"))
    return {};
  return std::string(saved_name);
}

}  // namespace trainx::architectures
