#include "spec/arch/bert.hpp"
#include "core/error.hpp"
#include "spec/arch/bert_groups.hpp"
#include "spec/arch/bert_slots.hpp"
#include "spec/arch/block_builder.hpp"
#include "spec/arch/library_bytes.hpp"
#include <cmath>

namespace trainx::spec {

using namespace bert;
using program::BlockSpec;
using program::Gemm;
using program::How;
using program::ModelGraph;
using program::Op;
using program::Phase;
using program::Role;
using program::SlotSpec;

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

/// Everything that the blocks' sizes follow from.
struct Shape {
  BertDims dims;
  std::int64_t B, T, N, C, F, H, D, V, Vp;
  DType compute;
  // low: a CPU computes in bf16 or fp16; weight gradients are made from fp32 casts
  bool dropout, gpu, low;
  bool scaled;  // the loss is multiplied by the scalar loss_scale
  int residual(std::int64_t k) const { return static_cast<int>(k); }
  int branch(std::int64_t k) const { return static_cast<int>(2 * dims.num_layers + k); }
  int logits() const { return static_cast<int>(4 * dims.num_layers); }
  int group(std::int64_t k) const { return Groups::first_block + static_cast<int>(k); }
};

/// Multiply-adds of all scores, or of their product with the values.
double product_flops(const Shape& s) {
  return 2.0 * static_cast<double>(s.B * s.H * s.D) * static_cast<double>(s.T) *
         static_cast<double>(s.T);
}

BlockSpec embedding_block(const ModelGraph& graph, const Shape& s) {
  using S = EmbeddingSlot;
  BlockBuilder b{graph, {.name = "embedding"}};
  b.batch(S::tokens, Batch::tokens);
  b.batch(S::token_types, Batch::token_types);
  b.batch(S::positions, Batch::positions);
  b.parameters(S::word, Groups::word);
  b.parameters(S::parameters, Groups::embedding);
  b.value(S::residual_out, "residual_out", s.residual(0)).from = {S::tokens, S::token_types,
                                                                  S::word, S::parameters};
  b.value_gradient(S::d_residual_out, "d_residual_out", s.residual(0));
  b.gradients(S::d_word, Groups::word);
  b.gradients(S::d_parameters, Groups::embedding);
  b.scratch(S::sum, "sum", s.compute, {s.N, s.C});
  b.scratch(S::mean, "mean", DType::f32, {s.N});
  b.scratch(S::rstd, "rstd", DType::f32, {s.N});
  b.scratch(S::d_sum, "d_sum", s.compute, {s.N, s.C});
  Phase& forward = b.block.phases[Op::forward];
  Phase& backward = b.block.phases[Op::backward];
  use(forward, How::read, {S::tokens, S::token_types, S::word, S::parameters});
  use(backward, How::read, {S::tokens, S::token_types, S::word, S::parameters, S::d_residual_out});
  forward.other_kernels = 2;
  backward.other_kernels = 10;  // tokens are sorted
  if (s.dropout) {
    b.block.slots[S::residual_out].from.push_back(S::positions);
    use(forward, How::read, {S::positions});
    use(backward, How::read, {S::positions});
  }
  use(forward, How::overwrite, {S::residual_out});
  use(backward, How::overwrite, {S::sum, S::mean, S::rstd, S::d_sum});
  use(backward, How::accumulate, {S::d_word, S::d_parameters});
  return std::move(b.block);
}

/// Slots and uses around the sum and its norm, the same in both kinds of block. `k`: which of the 2
/// * num_layers blocks.
void begin_sublayer(BlockBuilder& b, const Shape& s, int k) {
  using S = SublayerSlot;
  b.batch(S::positions, Batch::positions);
  b.parameters(S::parameters, s.group(k));
  b.value(S::residual_out, "residual_out", s.residual(k));
  b.value(S::branch_out, "branch_out", s.branch(k));
  b.value_gradient(S::d_residual_out, "d_residual_out", s.residual(k));
  b.value_gradient(S::d_branch_out, "d_branch_out", s.branch(k));
  b.gradients(S::d_parameters, s.group(k));
  b.scratch(S::d_normed, "d_normed", s.compute, {s.N, s.C});
  Phase& forward = b.block.phases[Op::forward];
  Phase& backward = b.block.phases[Op::backward];
  use(backward, How::read, {S::parameters, S::residual_out});
  if (s.dropout) use(backward, How::read, {S::d_branch_out});
  if (k == 0) {
    use(forward, How::read, {S::residual_out, S::parameters});
    use(backward, How::modify, {S::d_residual_out});
  } else {
    b.saved(S::mean, "mean", DType::f32, {s.N}).from = {S::residual_out};
    b.saved(S::rstd, "rstd", DType::f32, {s.N}).from = {S::residual_out};
    SlotSpec& normed = b.saved(S::normed, "normed", s.compute, {s.N, s.C});
    normed.from = {S::residual_out, S::mean, S::rstd, S::parameters};
    normed.cheap = true;
    b.value(S::residual_in, "residual_in", s.residual(k - 1));
    b.value(S::branch_in, "branch_in", s.branch(k - 1));
    b.value_gradient(S::d_residual_in, "d_residual_in", s.residual(k - 1));
    b.value_gradient(S::d_branch_in, "d_branch_in", s.branch(k - 1));
    std::vector<program::Slot>& from = b.block.slots[S::residual_out].from;
    from = {S::residual_in, S::branch_in, S::parameters};
    use(forward, How::read, {S::residual_in, S::branch_in, S::parameters});
    use(backward, How::read, {S::mean, S::rstd, S::normed, S::d_residual_out});
    if (k > 1) {
      b.parameters(S::norm_parameters, s.group(k - 1));
      b.block.slots[S::residual_out].from.push_back(S::norm_parameters);
      use(forward, How::read, {S::norm_parameters});
    }
    if (s.dropout) {
      b.block.slots[S::residual_out].from.push_back(S::positions);
      use(forward, How::read, {S::positions});
      use(backward, How::read, {S::positions});
      use(backward, How::overwrite, {S::d_branch_in});
    }
    use(forward, How::overwrite, {S::residual_out, S::mean, S::rstd, S::normed});
    use(backward, How::overwrite, {S::d_residual_in});
  }
  use(backward, How::accumulate, {S::d_parameters});
  use(backward, How::overwrite, {S::d_normed});
  if (s.low) use(backward, How::overwrite, {S::cast});
}

BlockSpec attention_block(const ModelGraph& graph, const Shape& s, int layer) {
  using S = AttentionSlot;
  BlockBuilder b{graph, {.name = "h" + std::to_string(layer) + ".attention", .layer = layer}};
  begin_sublayer(b, s, 2 * layer);
  const program::Slot input = layer == 0 ? S::residual_out : S::normed;
  b.scratch(S::cast, "cast", DType::f32, {s.low ? s.N * 4 * s.C : 0});
  b.batch(S::lengths, Batch::lengths);
  b.saved(S::qkv, "qkv", s.compute, {s.N, 3, s.H, s.D}).from = {input, S::parameters};
  b.saved(S::attention_out, "attention_out", s.compute, {s.N, s.H, s.D}).from = {S::qkv,
                                                                                 S::lengths};
  b.saved(S::lse, "lse", DType::f32, {s.B, s.T, s.H}).from = {S::qkv, S::lengths};
  b.block.slots[S::branch_out].from = {S::attention_out, S::parameters};
  b.scratch(S::d_qkv, "d_qkv", s.compute, {s.N, 3, s.H, s.D});
  Phase& forward = b.block.phases[Op::forward];
  use(forward, How::read, {S::lengths});
  use(forward, How::overwrite, {S::qkv, S::attention_out, S::lse, S::branch_out});
  forward.attention_flops = 2 * product_flops(s);
  forward.attention_output = S::attention_out;
  forward.other_kernels = 1;
  Phase& backward = b.block.phases[Op::backward];
  use(backward, How::read, {S::lengths, S::qkv, S::attention_out, S::lse});
  use(backward, How::overwrite, {S::d_qkv});
  backward.attention_flops = 5 * product_flops(s);
  forward.attention_head = backward.attention_head = s.D;
  forward.attention_rows = backward.attention_rows = s.N * s.H;
  forward.plain_attention = backward.plain_attention = s.dims.attention == AttentionKind::math;
  backward.other_kernels = 2;
  add_linear(b, s.N, 3 * s.C, s.C, S::qkv);
  add_linear(b, s.N, s.C, s.C, S::branch_out);
  return std::move(b.block);
}

BlockSpec mlp_block(const ModelGraph& graph, const Shape& s, int layer) {
  using S = MlpSlot;
  BlockBuilder b{graph, {.name = "h" + std::to_string(layer) + ".mlp", .layer = layer}};
  begin_sublayer(b, s, 2 * layer + 1);
  b.scratch(S::cast, "cast", DType::f32, {s.low ? s.N * (s.F + s.C) : 0});
  b.saved(S::preactivation, "preactivation", s.compute, {s.N, s.F}).from = {S::normed,
                                                                            S::parameters};
  SlotSpec& activated = b.saved(S::activated, "activated", s.compute, {s.N, s.F});
  activated.from = {S::preactivation};
  activated.cheap = true;
  b.block.slots[S::branch_out].from = {S::activated, S::parameters};
  b.scratch(S::d_activated, "d_activated", s.compute, {s.N, s.F});
  use(b.block.phases[Op::forward], How::overwrite, {S::preactivation, S::activated, S::branch_out});
  b.block.phases[Op::forward].other_kernels = b.block.phases[Op::backward].other_kernels = 2;
  use(b.block.phases[Op::backward], How::read, {S::preactivation, S::activated});
  use(b.block.phases[Op::backward], How::overwrite, {S::d_activated});
  add_linear(b, s.N, s.F, s.C, S::preactivation);
  add_linear(b, s.N, s.C, s.F, S::branch_out);
  return std::move(b.block);
}

/// What a head looks at: R of `rows` rows at a time, of whose logits each has `columns`.
struct HeadRows {
  std::int64_t rows, R, columns;
};

/// Slots and uses that both heads have.
void begin_head(BlockBuilder& b, const Shape& s, HeadRows at, int targets) {
  using S = HeadSlot;
  const int last = static_cast<int>(2 * s.dims.num_layers) - 1;
  b.value(S::residual_in, "residual_in", s.residual(last));
  b.value(S::branch_in, "branch_in", s.branch(last));
  b.batch(S::positions, Batch::positions);
  b.batch(S::targets, targets);
  b.parameters(S::parameters, s.group(last + 1));
  b.parameters(S::norm_parameters, s.group(last));
  b.value_gradient(S::d_residual_in, "d_residual_in", s.residual(last));
  b.value_gradient(S::d_branch_in, "d_branch_in", s.branch(last));
  b.gradients(S::d_parameters, s.group(last + 1));
  b.scalar(S::loss_sum, Scalars::loss_sum);
  b.scalar(S::target_count, Scalars::target_count);
  b.scalar(S::score, Scalars::score);
  if (s.scaled) b.scalar(S::loss_scale, Scalars::loss_scale);
  b.value(S::logits, "logits", s.logits());
  b.scratch(S::rows, "rows", DType::i64, {at.rows});
  for (const auto& [slot, name] : {std::pair{S::residual, "residual"},
                                   {S::normed, "normed"},
                                   {S::d_normed, "d_normed"},
                                   {S::d_residual, "d_residual"}})
    b.scratch(slot, name, s.compute, {at.R, s.C});
  for (const auto& [slot, name] :
       {std::pair{S::mean, "mean"}, {S::rstd, "rstd"}, {S::row_loss, "row_loss"}})
    b.scratch(slot, name, DType::f32, {at.R});
  b.scratch(S::predictions, "predictions", DType::i32, {at.R});
  b.scratch(S::logits_chunk, "logits_chunk", s.gpu ? s.compute : DType::f32, {at.R, at.columns});
  b.scratch(S::logits_low, "logits_low", s.compute, {s.low ? at.R : 0, at.columns});
  for (Op op : {Op::loss, Op::evaluate, Op::predict}) {
    Phase& phase = b.block.phases[op];
    use(phase, How::read, {S::residual_in, S::branch_in, S::parameters, S::norm_parameters});
    use(phase, How::overwrite,
        {S::rows, S::residual, S::mean, S::rstd, S::normed, S::logits_chunk});
    if (s.low) use(phase, How::overwrite, {S::logits_low});
    if (op == Op::predict) {
      use(phase, How::overwrite, {S::logits});
      continue;
    }
    use(phase, How::read, {S::targets});
    use(phase, How::accumulate, {S::loss_sum, S::target_count});
    use(phase, How::overwrite, {S::row_loss});
    if (op == Op::evaluate) {
      use(phase, How::accumulate, {S::score});
      use(phase, How::overwrite, {S::predictions});
      continue;
    }
    if (s.scaled) use(phase, How::read, {S::loss_scale});
    if (s.dropout) {
      use(phase, How::read, {S::positions});
      use(phase, How::overwrite, {S::d_branch_in});
    }
    use(phase, How::overwrite, {S::d_residual_in, S::d_normed, S::d_residual});
    use(phase, How::accumulate, {S::d_parameters});
    if (s.low) use(phase, How::overwrite, {S::cast});
  }
}

BlockSpec classifier_block(const ModelGraph& graph, const Shape& s) {
  using S = ClassifierSlot;
  const std::int64_t L = s.dims.num_labels;
  BlockBuilder b{graph, {.name = "head"}};
  begin_head(b, s, {s.B, s.B, L}, Batch::labels);
  b.scratch(S::cast, "cast", DType::f32, {s.low ? s.B * (s.C + std::max(s.C, L)) : 0});
  b.scratch(S::pooled, "pooled", s.compute, {s.B, s.C});
  b.scratch(S::dropped, "dropped", s.compute, {s.B, s.C});
  for (auto& [op, phase] : b.block.phases) {
    use(phase, How::overwrite, {S::pooled});
    phase.gemms = {{s.B, s.C, s.C}, {s.B, L, s.C}};
    phase.other_kernels = op == Op::loss ? 8 : 4;
    if (op != Op::loss) continue;
    if (s.dropout) use(phase, How::overwrite, {S::dropped});
    for (const Gemm& g :
         {Gemm{s.B, s.C, L}, Gemm{.m = L, .n = s.C, .k = s.B, .a_transposed = true},
          Gemm{s.B, s.C, s.C}, Gemm{.m = s.C, .n = s.C, .k = s.B, .a_transposed = true}})
      phase.gemms.push_back(g);
  }
  return std::move(b.block);
}

/// Rows with a target that the masked_lm head looks at: R at a time, of as many as are expected.
struct MaskedRows {
  std::int64_t R, expected;
};
MaskedRows masked_rows(const Shape& s) {
  const std::int64_t drawn = std::clamp<std::int64_t>(
      std::llround(static_cast<double>(s.N) * s.dims.mask_probability), 1, s.N);
  if (!s.gpu) return {logit_rows(s.Vp, s.N), drawn};
  // A GPU, which is not waited for, computes whole multiples of R. How many are drawn varies by
  // sqrt(N p (1 - p)): what lies four of those above takes one turn more, about once in 30,000
  // batches. More than 8192 rows do not make it busier.
  const double most = static_cast<double>(drawn) + 4 * std::sqrt(static_cast<double>(drawn));
  const auto rows = std::min(s.N, static_cast<std::int64_t>(std::ceil(most / 64)) * 64),
             turns = (rows + 8191) / 8192, R = (rows + turns - 1) / turns;
  return {R, std::min(s.N, R * turns)};
}

/// Products of the rows that are expected to have a target; how many there are, a batch decides.
BlockSpec masked_lm_block(const ModelGraph& graph, const Shape& s) {
  using S = MaskedLmSlot;
  const auto [R, expected] = masked_rows(s);
  const std::int64_t C = s.C;
  BlockBuilder b{graph, {.name = "head"}};
  begin_head(b, s, {s.N, R, s.Vp}, Batch::targets);
  b.parameters(S::word, Groups::word);
  b.gradients(S::d_word, Groups::word);
  b.scratch(S::row_targets, "row_targets", DType::i32, {s.N});
  b.scratch(S::cast, "cast", DType::f32, {s.low ? 2 * R * C : 0});
  for (const auto& [slot, name] : {std::pair{S::preactivation, "preactivation"},
                                   {S::activated, "activated"},
                                   {S::transformed, "transformed"}})
    b.scratch(slot, name, s.compute, {R, C});
  b.scratch(S::transformed_mean, "transformed_mean", DType::f32, {R});
  b.scratch(S::transformed_rstd, "transformed_rstd", DType::f32, {R});
  for (auto& [op, phase] : b.block.phases) {
    if (op == Op::predict)
      use(phase, How::read, {S::targets});  // which position
    else
      use(phase, How::overwrite, {S::row_targets});
    use(phase, How::read, {S::word});
    use(phase, How::overwrite,
        {S::preactivation, S::activated, S::transformed_mean, S::transformed_rstd, S::transformed});
    const std::int64_t rows = op == Op::predict ? s.B : expected;
    add_chunked(phase, rows, R, [&](std::int64_t r) { return Gemm{r, C, C}; });
    add_chunked(phase, rows, R, [&](std::int64_t r) { return Gemm{r, s.Vp, C}; });
    phase.other_kernels = (op == Op::loss ? 8 : 5) * ((rows + R - 1) / R);
    if (op != Op::loss) continue;
    use(phase, How::accumulate, {S::d_word});
    add_chunked(phase, rows, R, [&](std::int64_t r) { return Gemm{r, C, s.Vp}; });
    add_chunked(phase, rows, R, [&](std::int64_t r) {
      return Gemm{.m = s.Vp, .n = C, .k = r, .a_transposed = true};
    });
    add_chunked(phase, rows, R, [&](std::int64_t r) { return Gemm{r, C, C}; });
    add_chunked(phase, rows, R,
                [&](std::int64_t r) { return Gemm{.m = C, .n = C, .k = r, .a_transposed = true}; });
  }
  return std::move(b.block);
}

}  // namespace

ModelGraph bert_graph(const BertDims& dims, std::int64_t micro_batch_size, std::int64_t length,
                      DType compute, Machine machine) {
  if (dims.hidden_size % dims.num_heads != 0)
    throw InternalError("bert_graph: num_heads does not divide hidden_size");
  if (length < 1 || length > dims.max_positions || micro_batch_size < 1)
    throw InternalError("bert_graph: length or micro_batch_size out of range");
  if (compute != DType::f32 && size_of(compute) != 2)
    throw InternalError("bert_graph: compute is f32, bf16 or f16");
  const bool classification = dims.task == Task::classification;
  if (!classification && dims.task != Task::masked_lm)
    throw InternalError("bert_graph: task is classification or masked_lm");
  if (classification && dims.num_labels < 2)
    throw InternalError("bert_graph: classification takes at least 2 classes");
  const Shape s{.dims = dims,
                .B = micro_batch_size,
                .T = length,
                .N = micro_batch_size * length,
                .C = dims.hidden_size,
                .F = dims.intermediate_size,
                .H = dims.num_heads,
                .D = dims.hidden_size / dims.num_heads,
                .V = dims.vocab_size,
                .Vp = dims.padded_vocab_size(),
                .compute = compute,
                .dropout = dims.dropout > 0,
                .gpu = machine.gpu,
                .low = compute != DType::f32 && !machine.gpu,
                .scaled = compute == DType::f16 || machine.seeded};
  ModelGraph graph;
  graph.compute = compute;
  graph.tokens = s.N;
  graph.groups = bert_groups(dims);
  const auto blocks = static_cast<int>(2 * dims.num_layers);
  for (const char* part : {"residual", "branch"})
    for (int k = 0; k < blocks; ++k)
      graph.values.push_back({part + std::to_string(k), compute, {s.N, s.C}});
  graph.values.push_back({"logits", DType::f32, {s.B, classification ? dims.num_labels : s.V}});
  graph.batch = {{"tokens", DType::i32, {s.B, s.T}},
                 {"targets", DType::i32, {s.B, s.T}},
                 {"positions", DType::i64, {s.B}},
                 {"token_types", DType::i32, {s.B, s.T}},
                 {"lengths", DType::i32, {s.B}}};
  graph.scalars = {program::scalar(Role::loss_sum), program::scalar(Role::target_count)};
  if (classification) {
    graph.batch.push_back({"labels", DType::i32, {s.B}});
    graph.scalars.push_back(program::metric("confusion", {dims.num_labels, dims.num_labels}));
  } else {
    graph.scalars.push_back(program::metric("correct"));
    graph.target_chunk = masked_rows(s).R;
    graph.target_rows = masked_rows(s).expected;
  }
  if (s.scaled) graph.scalars.push_back(program::scalar(Role::loss_scale));
  graph.blocks.push_back(embedding_block(graph, s));
  for (int layer = 0; layer < dims.num_layers; ++layer) {
    graph.blocks.push_back(attention_block(graph, s, layer));
    graph.blocks.push_back(mlp_block(graph, s, layer));
  }
  graph.blocks.push_back(classification ? classifier_block(graph, s) : masked_lm_block(graph, s));
  const std::int64_t widest = std::max({3 * dims.hidden_size, dims.intermediate_size,
                                        classification ? 0 : dims.padded_vocab_size()});
  const LibraryCalls calls{
      micro_batch_size, length, dims.hidden_size, s.D, compute, dims.attention, false, widest};
  graph.library_bytes = machine.gpu ? gpu_library_bytes(calls, machine.deterministic)
                                    : library_bytes(calls, machine.threads);
  return graph;
}

}  // namespace trainx::spec
