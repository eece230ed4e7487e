// One description of decoders that learn the next token: its values make Llama, Qwen, Gemma and
// some thirty families more. A family is a file in families/ that reads its config.json into them.
#pragma once
#include "architectures/experts.hpp"
#include "architectures/rope.hpp"
#include "architectures/transformer.hpp"
#include "core/error.hpp"
#include "options/model/decoder.hpp"
#include "operations/activation/activation_spec.hpp"
#include <string>
#include <utility>
#include <vector>

namespace trainx::graph {
struct Model;
}

namespace trainx::architectures {

/// Names of tensors: of the model, and of a layer below "<layers>.<i>.". Several names: parts of
/// one product. "": there is none.
struct DecoderNames {
  /// What transformers' class calls otherwise than the folder's files: parts of names between dots,
  /// {in files, in the class}.
  std::vector<std::pair<std::string, std::string>> in_class = {};
  std::string embedding = "model.embed_tokens", position = "", layers = "model.layers",
              final_norm = "model.norm", head = "lm_head";
  std::vector<std::string> qkv{"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"};
  std::string out = "self_attn.o_proj";
  std::string query_norm = "self_attn.q_norm", key_norm = "self_attn.k_norm";
  std::string sinks = "";
  std::vector<std::string> up{"mlp.gate_proj", "mlp.up_proj"};
  std::string down = "mlp.down_proj";
  std::string norm1 = "input_layernorm", norm2 = "post_attention_layernorm";
  std::string post1, post2;         // of a branch's result
  std::string embedding_norm = "";  // "": it has no weight
  bool operator==(const DecoderNames&) const = default;
};

/// Positions of a decoder with ALiBi, whose config.json names none.
constexpr std::int64_t alibi_positions = 2048;

/// Multi-head latent attention (DeepSeek-V2, arXiv:2405.04434): queries, and keys with values, come
/// from narrow normed rows. A head has `plain` elements and `rope` that turn.
struct Latent {
  std::int64_t query_rank = 0;      // 0: queries come from the layer's input
  std::int64_t key_value_rank = 0;  // 0: attention is not latent
  std::int64_t plain = 0, rope = 0, value_size = 0;
  bool bias = false;  // of the products that make narrow rows
  bool operator==(const Latent&) const = default;
  explicit operator bool() const { return key_value_rank > 0; }
};

struct DecoderDims {
  using Options = DecoderOptions;
  std::string family = "llama";
  std::string config;  // its config.json
  DecoderNames names;

  std::int64_t num_layers = 1, num_heads = 1, num_key_value_heads = 1, head_size = 1,
               hidden_size = 1, intermediate_size = 1, max_positions = 1, vocab_size = 1;
  double dropout = 0, attention_dropout = 0, label_smoothing = 0, z_loss = 0;
  double initializer_range = 0.02;
  std::string dropout_key;  // of config.json; "": it has none
  // of config.json: the key of a dropout that transformers applies and trainx does not
  std::string left_out_dropout_key;
  std::int64_t pad_token = -1;  // its embedding gets no gradient from where it is read; -1: none

  // norms, of residuals and, where there are some, of heads
  bool rms = true, norm_weight = true, norm_shift = false;
  double layer_norm_epsilon = 1e-6, norm_offset = 0;
  bool norms_before = true, norms_after = false, norms_embedding = false;
  enum class Parallel : std::uint8_t { no, one_norm, two_norms };
  Parallel parallel = Parallel::no;  // attention and MLP of the same residual

  enum class HeadNorms : std::uint8_t { none, head, whole, each_head };
  HeadNorms head_norms = HeadNorms::none;  // each_head: heads have weights of their own
  bool norms_after_rope = false, head_norm_bias = false, head_norm_weight = true;
  bool separate_head_norms = false;  // a tensor for each head

  bool qkv_bias = false, out_bias = false, mlp_bias = false, head_bias = false;
  bool by_head = false;  // the file has queries, keys and values of a head behind one another
  bool gated = true, tied = false;
  operations::Activation activation = operations::Activation::silu;

  std::vector<Rope> ropes;
  bool neighbours = false;            // pairs of rope are neighbours
  double rope_direction = 1;          // -1: pairs turn the other way
  std::vector<int> layer_rope;        // of each layer: which; -1: none
  std::vector<std::int64_t> windows;  // of each layer; 0: none
  std::int64_t first_position = 0;    // of a learned table

  bool alibi = false;  // scores fall with distance
  Latent latent;
  Experts experts;
  bool fourfold_mlp = false;  // its width is no setting
  double clip = 0, score_scale = 0, score_cap = 0, logit_cap = 0;
  double embedding_scale = 1, branch_scale = 1, logit_scale = 1;

  AttentionKind attention = AttentionKind::automatic;
  bool packed = false;  // Gpt2Dims
  std::int64_t padded_vocab_size() const { return whole_tiles(vocab_size); }
  bool operator==(const DecoderDims&) const = default;
};

// What every architecture answers: transformer.hpp says what.
const Sizes<DecoderDims>& sizes(const DecoderOptions& o);
program::ModelGraph graph_of(const DecoderDims& d, std::int64_t micro_batch_size,
                             std::int64_t length, DType compute, GraphOptions graph_options = {});
graph::Model model_of(const DecoderDims& d, std::int64_t micro_batch_size, std::int64_t length,
                      DType compute, const GraphOptions& graph_options);
std::string parameter_of(const DecoderDims& d, std::string_view saved_name);

/// Of a config.json whose model_type is a family's; `code` of what is wrong with it.
DecoderDims decoder_dims(const std::string& family, const std::string& text,
                         const std::string& path, ExitCode code = ExitCode::bad_data);
/// The folder's config.json with what the recipe decided.
std::string decoder_config_text(const DecoderDims& d, DType saved);
/// Sizes that a recipe may set, as the family's layers follow from them.
void take_settings(DecoderOptions& o, DecoderDims& d);
std::vector<Dimension> dimensions(DecoderOptions& o, DecoderDims& d);
/// The folder's model for rows of `length` tokens, beyond the positions that it was made for, as
/// o.rope_scaling asks. UserError 78 where that has no effect or no meaning.
void stretch_positions(DecoderOptions& o, DecoderDims& d, std::int64_t length);
std::vector<std::string> remarks_of(const ConfigReader& file, const DecoderDims& d);

}  // namespace trainx::architectures
