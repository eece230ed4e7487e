// One description of encoders: BERT and those that came after it. A family is a file in families/
// that names tensors and reads its config.json into it.
#pragma once
#include "architectures/rope.hpp"
#include "architectures/transformer.hpp"
#include "options/model/bert.hpp"

namespace trainx::graph {
struct Model;
}

namespace trainx::architectures {

struct BertDims {
  using Options = BertOptions;
  std::int64_t num_layers = 12, num_heads = 12, hidden_size = 768, intermediate_size = 3072,
               max_positions = 512, vocab_size = 30522, type_vocab_size = 2;
  double dropout = 0, attention_dropout = 0, label_smoothing = 0, z_loss = 0;
  double initializer_range = 0.02, layer_norm_epsilon = 1e-12;
  AttentionKind attention = AttentionKind::automatic;
  // Its embedding begins as zero and gets no gradient from lookups, like
  // torch.nn.Embedding(padding_idx). -1: none.
  std::int64_t pad_token = 0;
  Task task = Task::masked_lm;
  std::int64_t num_labels = 0;
  ProblemType problem_type = ProblemType::single_label_classification;
  std::vector<std::string> labels = {};  // names of the classes, if the folder has them
  std::optional<Task> head = {};         // the complete head that the folder holds
  double mask_probability = 0.15;
  // of a vocabulary; -1 and none: not known, so that no masks can be drawn
  std::int64_t mask_token = -1;
  std::vector<std::int64_t> special_tokens = {};
  std::string family = "bert";
  std::string config = {};          // the folder's config.json
  std::int64_t first_position = 0;  // the table's row of a sample's first token
  std::int64_t embedding_size = 0;  // columns of embeddings; 0: hidden_size
  bool discriminates = false;       // the folder has a head that tells replaced tokens
  // norms come before the branches, but for that of the first layer's attention, and one at the end
  bool norms_before = false;
  bool norm_shift = true, attention_bias = true, mlp_bias = true, head_bias = true,
       decoder_bias = true;
  bool gated = false;       // an MLP
  bool pools_mean = false;  // classification reads the mean of all tokens, not the first
  // rotary positions; layers that do not look everywhere see keys at distances below the window
  std::int64_t window = 0, global_every = 0;  // 0: positions have a table
  std::vector<bool> global_layers = {};       // by name; none: every global_every-th
  Rope local_rope = {}, global_rope = {};
  bool rotates() const { return global_every > 0; }
  bool looks_everywhere(std::int64_t layer) const {
    return global_layers.empty() ? layer % global_every == 0
                                 : global_layers[static_cast<std::size_t>(layer)];
  }
  std::int64_t embedding_columns() const {
    return embedding_size > 0 ? embedding_size : hidden_size;
  }
  std::int64_t padded_vocab_size() const { return whole_tiles(vocab_size); }
  bool operator==(const BertDims&) const = default;
};

// What every architecture answers: transformer.hpp says what.
const Sizes<BertDims>& sizes(const BertOptions& o);
program::ModelGraph graph_of(const BertDims& d, std::int64_t micro_batch_size, std::int64_t length,
                             DType compute, GraphOptions graph_options = {});
graph::Model model_of(const BertDims& d, std::int64_t micro_batch_size, std::int64_t length,
                      DType compute, const GraphOptions& graph_options);
void config_keys(ConfigKeys& keys, BertDims& d);
std::vector<std::string> remarks_of(const ConfigReader& file, const BertDims& d);
std::string parameter_of(const BertDims& d, std::string_view saved_name);
void take_settings(BertOptions& o, BertDims& d);

}  // namespace trainx::architectures
