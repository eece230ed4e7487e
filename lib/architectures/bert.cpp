#include "architectures/bert.hpp"
#include "core/error.hpp"
#include "architectures/compose.hpp"

namespace trainx::architectures {

using graph::Value;

std::int64_t BertDims::padded_vocab_size() const { return (vocab_size + 127) / 128 * 128; }

const std::vector<std::pair<std::string_view, BertDims>>& bert_sizes() {
  static const std::vector<std::pair<std::string_view, BertDims>> sizes{
      {"base", {.num_layers = 12, .num_heads = 12, .hidden_size = 768, .intermediate_size = 3072}},
      {"large",
       {.num_layers = 24, .num_heads = 16, .hidden_size = 1024, .intermediate_size = 4096}}};
  return sizes;
}

std::optional<Masking> masking(const BertDims& d) {
  if (d.task != Task::masked_lm) return std::nullopt;
  return Masking{d.mask_probability, d.mask_token, d.vocab_size, d.special_tokens};
}

std::vector<Dimension> dimensions(BertOptions& o, BertDims& d) {
  std::vector<Dimension> all{{"num_layers", o.num_layers, d.num_layers},
                             {"num_heads", o.num_heads, d.num_heads},
                             {"hidden_size", o.hidden_size, d.hidden_size},
                             {"intermediate_size", o.intermediate_size, d.intermediate_size},
                             {"max_positions", o.max_positions, d.max_positions},
                             {"vocab_size", o.vocab_size, d.vocab_size},
                             {"type_vocab_size", o.type_vocab_size, d.type_vocab_size}};
  if (o.task == Task::classification && d.head == Task::classification)
    all.push_back({"num_labels", o.num_labels, d.num_labels});
  return all;
}

void take_settings(BertOptions& o, BertDims& d) {
  auto refuse = [](const std::string& sentence) {
    throw UserError(ExitCode::invalid_recipe, "model.options." + sentence);
  };
  const BertOptions defaults;
  const bool classification = o.task == Task::classification;
  if (o.task == Task::causal_lm)
    refuse(
        "task: a bert sees the tokens on both sides and cannot learn causal_lm; give masked_lm or "
        "classification, or model.type gpt2");
  if (classification && !o.num_labels)
    refuse("num_labels is missing: task classification needs the number of classes");
  if (!classification && o.num_labels)
    refuse(
        "num_labels can have no effect with task masked_lm: remove it, or write task: "
        "classification");
  if (classification && o.mask_probability != defaults.mask_probability)
    refuse("mask_probability can have no effect with task classification: remove it");
  if (classification && o.mask_token != defaults.mask_token)
    refuse("mask_token can have no effect with task classification: remove it");
  if (classification && o.special_tokens != defaults.special_tokens)
    refuse("special_tokens can have no effect with task classification: remove it");
  if (!classification && o.mask_token >= d.vocab_size)
    refuse("mask_token (" + std::to_string(o.mask_token) + ") must be below the vocabulary's " +
           std::to_string(d.vocab_size) + " tokens");
  if (!o.dropout.is_auto()) d.dropout = *o.dropout.value;
  o.dropout.value = d.dropout;
  d.initializer_range = o.initializer_range;
  d.task = o.task;
  d.num_labels = o.num_labels.value_or(0);
  if (static_cast<std::int64_t>(d.labels.size()) != d.num_labels) d.labels.clear();
  d.mask_probability = o.mask_probability;
  d.mask_token = o.mask_token;
  d.special_tokens = o.special_tokens;
}

namespace {

Value encoder(graph::ModelBuilder& m, const BertDims& d) {
  const std::string embeddings = "bert.embeddings.";
  Value h = m.embedding({.hidden_size = d.hidden_size,
                         .token = embeddings + "word_embeddings.weight",
                         .position = embeddings + "position_embeddings.weight",
                         .type = embeddings + "token_type_embeddings.weight",
                         .tokens = {d.vocab_size, d.padded_vocab_size(), "word",
                                    d.pad_token >= 0 ? d.pad_token : graph::none},
                         .positions = {d.max_positions},
                         .types = {d.type_vocab_size},
                         .norm = embeddings + "LayerNorm"});
  const graph::AttentionOptions heads{.heads = d.num_heads,
                                      .key_value_heads = d.num_heads,
                                      .head_size = d.hidden_size / d.num_heads,
                                      .mask = operations::AttentionMask::lengths,
                                      .kind = d.attention};
  for (int i = 0; i < d.num_layers; ++i) {
    const std::string layer = "bert.encoder.layer." + std::to_string(i) + ".",
                      attention = layer + "attention.";
    h = m.residual_then_norm(
        i, "attention", h,
        [&](Value x) {
          x = m.linear(x, attention + "self.",
                       {.features = 3 * d.hidden_size, .parts = {"query", "key", "value"}});
          return m.linear(m.attention(x, heads), attention + "output.dense",
                          {.features = d.hidden_size});
        },
        attention + "output.LayerNorm");
    h = m.residual_then_norm(
        i, "mlp", h,
        [&](Value x) {
          x = m.linear(
              x, layer + "intermediate.dense",
              {.features = d.intermediate_size, .activation = operations::Activation::gelu_erf});
          return m.linear(x, layer + "output.dense", {.features = d.hidden_size});
        },
        layer + "output.LayerNorm");
  }
  return h;
}

/// Pooler on the first token (dense, tanh), dropout, linear.
void classifier(graph::ModelBuilder& m, const BertDims& d, Value h, bool is_new) {
  m.begin_head(first_rows(m));
  h = m.linear(
      h, "bert.pooler.dense",
      {.features = d.hidden_size, .activation = operations::Activation::tanh, .optional = is_new});
  if (d.dropout > 0) h = m.dropout(h, 1, 1);
  m.loss(h, {.name = "classifier", .classes = d.num_labels, .bias = true, .optional = is_new},
         operations::CrossEntropy::Score::confusion);
}

/// Dense, GELU, norm, linear tied to the token embedding with a bias.
void masked_lm(graph::ModelBuilder& m, const BertDims& d, Value h, bool is_new) {
  const std::string predictions = "cls.predictions";
  m.begin_head(rows_with_targets(m, d.padded_vocab_size(), d.mask_probability));
  h = m.linear(h, predictions + ".transform.dense",
               {.features = d.hidden_size,
                .activation = operations::Activation::gelu_erf,
                .optional = is_new});
  h = m.layer_norm(h, predictions + ".transform.LayerNorm", is_new);
  m.loss(h,
         {.tied_to = "bert.embeddings.word_embeddings.weight",
          .name = predictions,
          .classes = d.vocab_size,
          .bias = true,
          .optional = is_new},
         operations::CrossEntropy::Score::correct);
}

}  // namespace

program::ModelGraph bert_graph(const BertDims& d, std::int64_t micro_batch_size,
                               std::int64_t length, DType compute, Machine machine) {
  if (d.hidden_size % d.num_heads != 0 || length > d.max_positions)
    throw InternalError("bert_graph: num_heads does not divide hidden_size, or length is too long");
  const bool classifies = d.task == Task::classification;
  if (!classifies && d.task != Task::masked_lm)
    throw InternalError("bert_graph: task is classification or masked_lm");
  if (classifies && d.num_labels < 2)
    throw InternalError("bert_graph: classification takes at least 2 classes");
  graph::BuilderOptions options = builder_options(micro_batch_size, length, compute, machine);
  options.dropout = d.dropout;
  options.epsilon = d.layer_norm_epsilon;
  options.initializer_range = d.initializer_range;
  std::vector<std::string> batch{"tokens", "targets", "positions", "token_types", "lengths"};
  if (classifies) batch.push_back("labels");
  graph::ModelBuilder m(options, batch);
  const Value h = encoder(m, d);
  classifies ? classifier(m, d, h, d.head != d.task) : masked_lm(m, d, h, d.head != d.task);
  return compose(m.finish(), machine);
}

std::string bert_parameter_name(const BertDims& dims, std::string_view saved_name) {
  std::string name(saved_name);
  for (const char* part : {"embeddings.", "encoder.", "pooler."})
    if (name.starts_with(part)) name = "bert." + name;
  for (const auto& [old, now] :
       {std::pair<std::string, std::string>{"LayerNorm.gamma", "LayerNorm.weight"},
        {"LayerNorm.beta", "LayerNorm.bias"}})
    if (name.ends_with(old)) name.replace(name.size() - old.size(), old.size(), now);
  const bool classification = dims.task == Task::classification;
  const bool of_other_head = classification ? name.starts_with("cls.")
                                            : name.starts_with("classifier.") ||
                                                  name.starts_with("bert.pooler.") ||
                                                  name.starts_with("cls.seq_relationship.");
  const bool tied = name == "cls.predictions.decoder.weight" ||
                    name == "cls.predictions.decoder.bias";
  if (of_other_head || tied || name == "bert.embeddings.position_ids" ||
      name.starts_with("qa_outputs."))
    return {};
  return name;
}

}  // namespace trainx::architectures
