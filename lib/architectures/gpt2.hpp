// GPT-2 (Radford et al. 2019), and GPT-2 with experts as the Switch Transformer has them (Fedus et
// al. 2021, arXiv:2101.03961).
#pragma once
#include "architectures/transformer.hpp"
#include "options/model/gpt2.hpp"

namespace trainx::graph {
struct Model;
}

namespace trainx::architectures {

struct Gpt2Dims {
  using Options = Gpt2Options;
  std::int64_t num_layers = 12, num_heads = 12, hidden_size = 768, intermediate_size = 3072,
               max_positions = 1024, vocab_size = 50257;
  double dropout = 0, attention_dropout = 0, label_smoothing = 0, z_loss = 0;
  double initializer_range = 0.02;  // of residual projections: over sqrt(2 * num_layers)
  double layer_norm_epsilon = 1e-5;
  // Experts in place of the MLP of every decoder_sparse_step-th layer; num_experts 0: none.
  std::int64_t num_experts = 0, num_experts_per_tok = 1, decoder_sparse_step = 2;
  double capacity_factor = 1.25;  // of training; 0: no choice is dropped
  double router_aux_loss_coef = 0.01, router_z_loss = 0;
  AttentionKind attention = AttentionKind::automatic;
  // A row may hold several documents. Each sees itself alone and counts its positions from 0.
  bool packed = false;
  bool tied = true;  // the head's weight is the tokens' embedding
  std::int64_t padded_vocab_size() const { return whole_tiles(vocab_size); }
  bool has_experts(std::int64_t layer) const {
    return num_experts > 0 && (layer + 1) % decoder_sparse_step == 0;
  }
  bool operator==(const Gpt2Dims&) const = default;
};

/// The model_type of a folder with experts, of which transformers knows none.
constexpr std::string_view gpt2_moe = "gpt2_moe";

// What every architecture answers: transformer.hpp says what.
const Sizes<Gpt2Dims>& sizes(const Gpt2Options&);
program::ModelGraph graph_of(const Gpt2Dims& d, std::int64_t micro_batch_size, std::int64_t length,
                             DType compute, GraphOptions graph_options = {});
graph::Model model_of(const Gpt2Dims& d, std::int64_t micro_batch_size, std::int64_t length,
                      DType compute, const GraphOptions& graph_options);
void config_keys(ConfigKeys& keys, Gpt2Dims& d);
std::vector<std::string> remarks_of(const ConfigReader& file, const Gpt2Dims& d);
std::string parameter_of(const Gpt2Dims& d, std::string_view saved_name);
/// Sizes, and what a recipe decides of experts.
std::vector<Dimension> dimensions(Gpt2Options& o, Gpt2Dims& d);
void take_settings(Gpt2Options& o, Gpt2Dims& d);

}  // namespace trainx::architectures
