// GPT-2 (Radford et al. 2019).
#pragma once
#include "architectures/transformer.hpp"

namespace trainx::architectures {

struct Gpt2Options {
  static constexpr std::string_view name = "gpt2";
  static constexpr std::string_view summary =
      "Decoder-only transformer with learned positions (124m, 350m, 774m, 1558m)";
  std::optional<std::int64_t> num_layers, num_heads, hidden_size, intermediate_size, max_positions,
      vocab_size;
  Auto<double> dropout, attention_dropout;
  double label_smoothing = 0, z_loss = 0;
  double initializer_range = 0.02;
};

template <class Visitor>
void visit_fields(Visitor& field, Gpt2Options& o) {
  size_fields(field, o);
  training_fields(field, o, "embeddings and residual branches",
                  "; 0.02 suits published sizes, narrow models learn sooner with more");
}

struct Gpt2Dims {
  using Options = Gpt2Options;
  std::int64_t num_layers = 12, num_heads = 12, hidden_size = 768, intermediate_size = 3072,
               max_positions = 1024, vocab_size = 50257;
  double dropout = 0, attention_dropout = 0, label_smoothing = 0, z_loss = 0;
  double initializer_range = 0.02;  // of residual projections: over sqrt(2 * num_layers)
  double layer_norm_epsilon = 1e-5;
  AttentionKind attention = AttentionKind::automatic;
  // A row may hold several documents. Each sees itself alone and counts its positions from 0.
  bool packed = false;
  std::int64_t padded_vocab_size() const { return whole_tiles(vocab_size); }
  bool operator==(const Gpt2Dims&) const = default;
};

// What every architecture answers: transformer.hpp says what.
const Sizes<Gpt2Dims>& sizes(const Gpt2Options&);
program::ModelGraph graph_of(const Gpt2Dims& d, std::int64_t micro_batch_size, std::int64_t length,
                             DType compute, Machine machine = {});
void config_keys(ConfigKeys& keys, Gpt2Dims& d);
std::vector<std::string> remarks_of(const ConfigReader& file, const Gpt2Dims& d);
std::string parameter_of(const Gpt2Dims& d, std::string_view saved_name);

}  // namespace trainx::architectures
