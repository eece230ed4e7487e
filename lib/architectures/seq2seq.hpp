// One description of models that read one text and write another: an encoder, and a decoder that
// attends to what it made. A family (T5, BART) is a file in families/ that reads its config.json
// into it.
#pragma once
#include "architectures/transformer.hpp"
#include "operations/activation/activation_spec.hpp"
#include "operations/attention/relative_bias_spec.hpp"
#include "options/model/seq2seq.hpp"
#include <string>
#include <vector>

namespace trainx::graph {
struct Model;
}

namespace trainx::architectures {

/// Names of one side's tensors; those of a layer below "<layers>.<i>.". Several names: parts of one
/// product. "": there is none.
struct SideNames {
  struct Attention {
    std::vector<std::string> query_key_value;
    std::string out, norm;
    bool operator==(const Attention&) const = default;
  };
  std::string layers, position = "", embedding_norm = "", final_norm = "";
  std::string bias = "";  // the table of biases by distance
  Attention attention, cross = {};
  std::vector<std::string> up;
  std::string down, norm;  // of the MLP
  bool operator==(const SideNames&) const = default;
};

struct Seq2SeqDims {
  using Options = Seq2SeqOptions;
  std::string family = "t5";
  std::string config;  // its config.json
  std::string embedding = "shared", head = "lm_head";
  std::string constant_bias = "";  // of the logits: no step changes it
  SideNames encoder, decoder;
  Task task = Task::seq2seq;

  // of the encoder, but what is called the decoder's
  std::int64_t num_layers = 1, num_heads = 1, intermediate_size = 1, num_decoder_layers = 1,
               num_decoder_heads = 1, decoder_intermediate_size = 1;
  // head_size 0: hidden_size / heads of the side
  std::int64_t hidden_size = 1, head_size = 0, max_positions = 1, vocab_size = 1;
  double dropout = 0, attention_dropout = 0, activation_dropout = 0, initializer_range = 0.02;
  double label_smoothing = 0, z_loss = 0;
  bool widths_scale_weights = false;  // initial weights follow from widths, times the range
  std::int64_t pad_token = -1;        // as DecoderDims
  TargetShift shift;                  // of the decoder's input; start -1: not known

  bool rms = false, norms_before = false, biases = true, gated = false;
  // open: config.json leaves it to the folder's weights, which have a head of their own or lack one
  enum class Head : std::uint8_t { embedding, own, open };
  Head head_is = Head::embedding;
  bool lacks_head = false;
  bool tied() const { return head_is == Head::embedding || (head_is == Head::open && lacks_head); }
  bool drops_output = false;  // of both sides, behind the last norm
  double layer_norm_epsilon = 1e-5;
  operations::Activation activation = operations::Activation::gelu_erf;
  operations::RelativeBias bias = {};  // of both sides' self-attention
  std::int64_t first_position = 0;     // of learned tables
  double embedding_scale = 1, logit_scale = 1, score_scale = 0;

  AttentionKind attention = AttentionKind::automatic;
  // data.sequence_length and data.target_length: shorter rows keep their ratio
  std::int64_t longest_source = 1, longest_target = 1;

  std::int64_t padded_vocab_size() const { return whole_tiles(vocab_size); }
  bool operator==(const Seq2SeqDims&) const = default;
};

/// Tokens of a target beside sources of that many.
std::int64_t target_length(const Seq2SeqDims& d, std::int64_t source_length);

// What every architecture answers: transformer.hpp says what.
const Sizes<Seq2SeqDims>& sizes(const Seq2SeqOptions& o);
program::ModelGraph graph_of(const Seq2SeqDims& d, std::int64_t micro_batch_size,
                             std::int64_t length, DType compute, GraphOptions graph_options = {});
graph::Model model_of(const Seq2SeqDims& d, std::int64_t micro_batch_size, std::int64_t length,
                      DType compute, const GraphOptions& graph_options);
std::string parameter_of(const Seq2SeqDims& d, std::string_view saved_name);

/// Of a config.json whose model_type is a family's, beside weights that may lack a head.
Seq2SeqDims seq2seq_dims(const std::string& family, const std::string& text,
                         const std::string& path, bool lacks_head = false);
/// The folder's config.json with what the recipe decided.
std::string seq2seq_config_text(const Seq2SeqDims& d, DType saved);
void take_settings(Seq2SeqOptions& o, Seq2SeqDims& d);
std::vector<Dimension> dimensions(Seq2SeqOptions& o, Seq2SeqDims& d);
std::vector<std::string> remarks_of(const ConfigReader& file, const Seq2SeqDims& d);

}  // namespace trainx::architectures
