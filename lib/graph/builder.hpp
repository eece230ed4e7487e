// Builds a model from layers, as an architecture's description reads. Parameters are called as the
// Hugging Face folder has them.
#pragma once
#include "graph/model.hpp"
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace trainx::graph {

struct Value {
  ValueId id = none;
};

/// What all layers have in common.
struct BuilderOptions {
  std::int64_t batch_size = 1, length = 1;  // samples of a micro-batch, tokens of each
  std::int64_t target_length = 0;           // of a text that is another than the tokens'; 0: none
  DType compute = DType::f32;
  bool gpu = false;
  int compute_capability = 0;  // of the GPU, 90: 9.0; 0: not known
  bool scaled = false;
  double dropout = 0;  // of embeddings and residual branches
  double attention_dropout = 0;
  double label_smoothing = 0, z_loss = 0;  // operations::CrossEntropy
  double epsilon = 1e-5;
  double initializer_range = 0.02;
  bool transposed_linears = false;  // files hold linear weights as [in, out]
  // a norm and a sum have every form that is written; else they are LayerNorm with weight and shift
  bool any_norms = false;
  bool rms = false;
  bool norm_weight = true, norm_shift = true;
  double norm_offset = 0;  // of its weight
  double branch_scale = 1;
  std::int64_t label_values = 0;  // numbers of a sample's target, where it is some
  // tensors of the micro-batch that a model of the user's own reads beside those known by name
  std::vector<program::TensorSpec> fields = {};
};

/// A linear layer. `parts`: layers whose results stand side by side, computed as one product:
/// "query", "key", "value".
struct LinearOptions {
  std::int64_t features = 0;  // of all parts
  std::vector<std::string> parts = {};
  std::vector<std::int64_t> widths = {};  // of the parts; none: they are alike
  bool bias = true;
  std::int64_t saved_heads = 0;  // program::ParameterSpec
  operations::Activation activation = operations::Activation::none;
  double initializer_range = 0;                 // 0: BuilderOptions'
  std::vector<double> initializer_ranges = {};  // of the parts; none: they are alike
  bool optional = false;                        // a new head: the folder may lack it
};

struct AttentionOptions {
  std::int64_t heads = 1, key_value_heads = 1, head_size = 1;
  operations::AttentionMask mask = operations::AttentionMask::causal;
  AttentionKind kind = AttentionKind::automatic;
  double scale = 0;  // operations::Attention
  std::int64_t window = 0;
  double soft_cap = 0;
  bool alibi = false;
  std::string sinks = "";  // operations::Attention's parameter; "": there are none
  std::int64_t value_size = 0;
  operations::RelativeBias bias = {};
  std::string bias_table = "";  // parameter of the bias, which layers of a stack share
  double bias_range = 0;        // BuilderOptions::initializer_range
};

/// operations::HeadNorm; parameters are called so, ".weight" and ".bias"; "": it has none.
struct HeadNormOptions {
  std::string query, key;
  std::int64_t query_columns = 0, key_columns = 0;  // of the parameters
  std::int64_t query_rows = 0, key_rows = 0;  // parameters are [rows, columns / rows]; 0: [columns]
  int query_parts = 1,
      key_parts = 1;  // files hold parameters in so many: <name>.norms.<part>.weight
  bool bias = false;
  operations::HeadNorm norm;
};

struct TableOptions {
  std::int64_t rows = 0, padded_rows = 0;  // padded: 0, as many
  std::string group = "";                  // ModelParameter::group
  std::int64_t zero_row = none;            // begins as zero and gets no gradient
  double initializer_range = 0;            // 0: BuilderOptions'
  bool by_token = false;                   // rows are the vocabulary's
};

struct EmbeddingOptions {
  std::int64_t hidden_size = 0;
  std::string token, position, type = "";  // parameters; type: of segments, "" if there are none
  TableOptions tokens, positions, types;
  std::string norm = "";  // a LayerNorm of their sum
  double scale = 1;       // operations::Embedding
  bool scales_tokens = false;
  std::int64_t first_position = 0;
};

/// A mixture of experts: MLPs, of which a router chooses some for each token.
struct MixtureOptions {
  operations::Router router = {};
  std::int64_t features = 0;  // of an expert, between its products
  operations::Activation activation = operations::Activation::silu;
  bool gated = true;  // a gate stands beside what it opens
  // Choices that an expert computes of a micro-batch, times those that it would have if all experts
  // had as many (Fedus et al. 2021, arXiv:2101.03961, equation 3); others are dropped. 0: all are
  // computed.
  double capacity_factor = 0;
  std::string router_name;      // of the weight, without ".weight"
  std::string correction = "";  // operations::Router's constant; "": there is none
  // Parameters are <experts>.<number>.<part>.weight, parts those of `up`, the gate and what it
  // opens, and of `down`. Stacked: one for all experts, <part>.weight, of dims [experts, out, in].
  std::string experts = "";
  std::vector<std::string> up = {};
  std::string down = "";
  bool stacked = false;
  bool transposed = false;  // ... which files hold as [experts, in, out]: <part>, <part>_bias
  bool biased = false;      // stacked experts
  bool router_biased = false;
  double down_range = 0;  // standard deviation of `down`; 0: BuilderOptions::initializer_range
  std::optional<operations::ClampedGated> clamped = {};  // instead of the activation
  double loss = 0;  // scale of the loss that keeps experts evenly busy: operations::RouterLoss
  bool loss_by_layer = false;  // the sum of the layers' losses, else one of all their tokens
  double z_loss = 0;           // operations::RouterZLoss
  double balance_rate = 0;     // of the correction: program::ModelGraph
};

struct ModuleOptions {
  std::string name;  // its block's
  // in the module's order; one of a name that is known already is that parameter
  std::vector<program::ParameterSpec> parameters = {};
  std::vector<Value> inputs = {};
  std::vector<std::string> outputs = {};  // names of the values that it makes
  operations::Module module = {};
};

class ModelBuilder {
 public:
  /// `batch`: the tensors of a micro-batch that the model reads, by their names in
  /// data::BatchView.
  ModelBuilder(const BuilderOptions& options, const std::vector<std::string>& batch);

  Value embedding(const EmbeddingOptions& options);
  /// The values that `f` makes of h form the block h<layer>.<part>: h + dropout(f(h)).
  using Branch = std::function<Value(Value)>;
  Value residual(int layer, const std::string& part, Value h, const Branch& f);
  /// The values that `f` makes of h form a block of their own.
  Value stage(const std::string& name, Value h, const Branch& f);
  /// The mean over each sample's tokens, where a head of first rows opens.
  Value mean_pool(Value x);
  /// norm(h + dropout(f(h))): the norm follows the sum.
  Value residual_then_norm(int layer, const std::string& part, Value h, const Branch& f,
                           const std::string& norm);
  /// Both branches of one h: h + (f(h) + g(h)).
  Value parallel_residual(int layer, const std::string& part, Value h, const Branch& f,
                          const Branch& g);
  /// `epsilon` 0: BuilderOptions'.
  Value layer_norm(Value x, const std::string& name, bool optional = false, double epsilon = 0);
  Value linear(Value x, const std::string& name, const LinearOptions& options);
  Value head_norm(Value qkv, const HeadNormOptions& options);
  Value rotary(Value qkv, const operations::Rotary& rotary);
  Value columns(Value x, const operations::Columns& columns);
  Value latent_heads(Value queries, Value keys_values, Value latent,
                     const operations::LatentHeads& heads);
  /// `memory`: keys and values of another text, where qkv are queries alone.
  Value attention(Value qkv, const AttentionOptions& options, Value memory = {});
  Value gated(Value x, operations::Activation activation);
  Value activation(Value x, operations::Activation activation);
  /// What experts make of x, plus `shared`, what one made that computes all tokens, times the
  /// sigmoid of `shared_gate` [rows, 1], where there are these.
  Value mixture(Value x, const MixtureOptions& options, Value shared = {}, Value shared_gate = {});
  /// `probability` 0: the options'.
  Value dropout(Value x, std::int64_t length, int site, double probability = 0);
  /// A module of the user's own, and the values that it makes.
  std::vector<Value> module(const ModuleOptions& options);
  /// The last one, with the loss of its logits. `classes`: of the confusion that evaluation
  /// counts, or 0.
  void module_head(ModuleOptions options, Value targets, std::int64_t classes);
  /// The last one, whose loss is its own, and so many metrics.
  void module_loss(ModuleOptions options, std::int64_t metrics);

  /// What follows computes rows of the targets' text, and attends to `memory`. The sums of the
  /// layer before stay there.
  void begin_targets(Value memory);
  std::int64_t length() const { return length_; }  // tokens of a sample, of what is computed now

  /// The head begins: what follows computes rows of h.
  void begin_head(const Head& rows);
  struct LogitsOptions {
    std::string tied_to = "";  // an embedding whose table is the weight; "": a weight of its own
    std::string name;          // of the weight, or of what the bias belongs to
    std::int64_t classes = 0;
    bool bias = false, optional = false;
    bool by_token = true;            // classes are the vocabulary's
    std::string constant_bias = "";  // a bias that is not trained; files have it as [1, classes]
    double initializer_range = 0;    // 0: BuilderOptions'
    double scale = 1, soft_cap = 0;  // operations::CrossEntropy
  };
  void loss(Value h, const LogitsOptions& options, operations::CrossEntropy::Score score);
  /// Of logits against the head's targets, which are real numbers.
  void value_loss(Value h, const LogitsOptions& options, operations::ValueLossKind kind);

  /// The value that the batch tensor is; InternalError if the model does not read it.
  Value batch(const std::string& name) const;
  const BuilderOptions& options() const { return options_; }
  Model finish() { return std::move(model_); }

 private:
  Value logits(Value h, const LogitsOptions& options);
  Node& add(operations::Operation operation, std::vector<ValueId> inputs,
            std::vector<ParameterId> parameters);
  Value out(const Node& op, int index = 0) const { return {op.outputs.at(index)}; }
  Block& begin(std::string name, BlockKind kind, int layer = none);
  operations::ResidualNorm norm_form() const;
  ValueId documents() const;
  Value sum(Value h, Value branch);
  Node& add_module(const ModuleOptions& options);
  ParameterId parameter(program::ParameterSpec spec, std::string group = "",
                        bool continues = false);
  /// The one of that name if there is one.
  ParameterId table(const std::string& name, std::int64_t columns, const TableOptions& options);
  ParameterId find(const std::string& name) const;  // index none: there is none
  std::vector<ParameterId> norm_parameters(const std::string& name, std::int64_t columns,
                                           bool optional);
  std::int64_t columns_of(Value x) const;
  Value expert_layer(Value x, Value offsets, const MixtureOptions& options,
                     const std::vector<std::string>& parts, std::int64_t features,
                     double initializer_range);
  Value experts(Value rows, Value offsets, const MixtureOptions& options);
  std::int64_t choices(const MixtureOptions& options) const;  // of a micro-batch

  BuilderOptions options_;
  Model model_;
  std::int64_t length_ = 1;
  Value balance_;  // of the routers so far whose loss is one
  std::vector<std::pair<Value, operations::RouterLoss>> router_losses_;  // and what they read
  Value z_;                                                              // of the routers so far
  operations::RouterZLoss z_loss_ = {};                                  // of those
  operations::ExpertLoads loads_ = {};
  std::vector<ValueId> offsets_;  // of rows by expert, of the layers so far
  int sums_ = 0;                  // residual branches so far
};

}  // namespace trainx::graph
