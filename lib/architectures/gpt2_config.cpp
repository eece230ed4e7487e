// config.json and tensors of a Hugging Face GPT-2 folder.
#include "architectures/config_reader.hpp"
#include "architectures/gpt2.hpp"
#include "architectures/refuse_option.hpp"

namespace trainx::architectures {

using nlohmann::json;

namespace {

/// Why a router cannot choose, or no layer has experts, as the rest of a sentence; "": neither.
std::string wrong_experts(const Gpt2Dims& d) {
  if (d.num_experts_per_tok > d.num_experts)
    return "num_experts_per_tok (" + std::to_string(d.num_experts_per_tok) +
           ") exceeds num_experts (" + std::to_string(d.num_experts) + ")";
  if (d.decoder_sparse_step > d.num_layers)
    return "decoder_sparse_step (" + std::to_string(d.decoder_sparse_step) +
           ") exceeds the number of layers (" + std::to_string(d.num_layers) +
           "), so that none has experts";
  return "";
}

void require_experts(const ConfigReader& file, const Gpt2Dims& d) {
  if (const std::string why = wrong_experts(d); !why.empty()) file.fail(why);
}

}  // namespace

std::vector<Dimension> dimensions(Gpt2Options& o, Gpt2Dims& d) {
  std::vector<Dimension> all = dimensions<Gpt2Options, Gpt2Dims>(o, d);
  if (d.num_experts == 0 && !o.num_experts) return all;
  all.push_back({"num_experts", o.num_experts, d.num_experts});
  all.push_back({"num_experts_per_tok", o.num_experts_per_tok, d.num_experts_per_tok});
  all.push_back({"decoder_sparse_step", o.decoder_sparse_step, d.decoder_sparse_step});
  return all;
}

void take_settings(Gpt2Options& o, Gpt2Dims& d) {
  take_settings<Gpt2Options, Gpt2Dims>(o, d);
  if (d.num_experts == 0) {
    for (const auto& [key, is_set] :
         {std::pair{"num_experts_per_tok", o.num_experts_per_tok.has_value()},
          std::pair{"decoder_sparse_step", o.decoder_sparse_step.has_value()},
          std::pair{"capacity_factor", !o.capacity_factor.is_auto()},
          std::pair{"router_aux_loss_coef", !o.router_aux_loss_coef.is_auto()},
          std::pair{"router_z_loss", o.router_z_loss > 0}})
      if (is_set)
        refuse_option(
            std::string(key) +
            " can have no effect: this gpt2 has no experts; remove it, or write num_experts");
    return;
  }
  if (const std::string why = wrong_experts(d); !why.empty()) refuse_option(why);
  if (!o.capacity_factor.is_auto()) d.capacity_factor = *o.capacity_factor.value;
  o.capacity_factor.value = d.capacity_factor;
  if (!o.router_aux_loss_coef.is_auto()) d.router_aux_loss_coef = *o.router_aux_loss_coef.value;
  o.router_aux_loss_coef.value = d.router_aux_loss_coef;
  d.router_z_loss = o.router_z_loss;
}

void config_keys(ConfigKeys& keys, Gpt2Dims& d) {
  keys.fixed("activation_function", {"gelu_new", "gelu_pytorch_tanh"});
  keys.fixed("scale_attn_weights", {true});
  keys.fixed("scale_attn_by_inverse_layer_idx", {false});
  keys.fixed("reorder_and_upcast_attn", {false});
  keys.require("add_cross_attention", {false});
  keys.flag("tie_word_embeddings", d.tied, true);
  keys.dimension("n_layer", d.num_layers);
  keys.dimension("n_head", d.num_heads);
  keys.dimension("n_embd", d.hidden_size);
  keys.dimension("n_inner", d.intermediate_size, 4 * d.hidden_size);
  keys.dimension("n_positions", d.max_positions);
  keys.dimension("vocab_size", d.vocab_size);
  keys.number("layer_norm_epsilon", d.layer_norm_epsilon, 1e-5, positive());
  keys.dropout("resid_pdrop", d.dropout);
  keys.dropout("attn_pdrop", d.attention_dropout);
  keys.heads_divide("n_embd", d.hidden_size, "n_head", d.num_heads);
  if (d.num_experts > 0) {
    keys.dimension("num_experts", d.num_experts);
    keys.dimension("num_experts_per_tok", d.num_experts_per_tok, 1);
    keys.dimension("decoder_sparse_step", d.decoder_sparse_step, 2);
    keys.number("capacity_factor", d.capacity_factor, 1.25, non_negative());
    keys.number("router_aux_loss_coef", d.router_aux_loss_coef, 0.01, non_negative());
    if (keys.file()) require_experts(*keys.file(), d);
  }
  keys.write("architectures",
             json::array({d.num_experts > 0 ? "GPT2MoeLMHeadModel" : "GPT2LMHeadModel"}));
  keys.write("n_ctx", d.max_positions);
  keys.write("embd_pdrop", d.dropout);
  keys.write("initializer_range", d.initializer_range);
  // Ids of the beginning and the end of a text. transformers' default, 50256, lies beyond a small
  // vocabulary.
  for (const char* key : {"bos_token_id", "eos_token_id"})
    keys.write(key, d.vocab_size == 50257 ? json(50256) : json());
  // of multiple choice, a dropout that remarks_of compares, and what is written for older readers
  keys.ignore({"summary_type", "summary_use_proj", "summary_activation", "summary_proj_to_labels",
               "summary_first_dropout", "embd_pdrop", "n_ctx"});
  if (keys.file()) keys.file()->refuse_unknown();
}

std::vector<std::string> remarks_of(const ConfigReader& file, const Gpt2Dims& d) {
  const double residual = file.dropout("resid_pdrop"), embedding = file.dropout("embd_pdrop");
  return dropout_remarks(file.path(), d.dropout, {"resid_pdrop", residual},
                         {"embd_pdrop", embedding});
}

/// Names begin with "transformer." or not. A tied head is the tokens' embedding.
std::string parameter_of(const Gpt2Dims& d, std::string_view saved_name) {
  constexpr std::string_view prefix = "transformer.";
  if (saved_name.starts_with(prefix)) saved_name.remove_prefix(prefix.size());
  if (d.tied && saved_name == "lm_head.weight") return "wte.weight";
  return std::string(saved_name);
}

}  // namespace trainx::architectures
