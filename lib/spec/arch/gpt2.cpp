#include "spec/arch/gpt2.hpp"
#include "core/error.hpp"
#include "spec/arch/block_builder.hpp"
#include "spec/arch/gpt2_groups.hpp"
#include "spec/arch/gpt2_slots.hpp"
#include "spec/arch/library_bytes.hpp"
#include <algorithm>

namespace trainx::spec {

using program::BlockSpec;
using program::Gemm;
using program::How;
using program::ModelGraph;
using program::Op;
using program::Phase;
using program::Role;
using program::SlotSpec;

std::int64_t Gpt2Dims::padded_vocab_size() const { return (vocab_size + 127) / 128 * 128; }

const std::vector<std::pair<std::string_view, Gpt2Dims>>& gpt2_sizes() {
  static const std::vector<std::pair<std::string_view, Gpt2Dims>> sizes{
      {"124m", {.num_layers = 12, .num_heads = 12, .hidden_size = 768, .intermediate_size = 3072}},
      {"350m", {.num_layers = 24, .num_heads = 16, .hidden_size = 1024, .intermediate_size = 4096}},
      {"774m", {.num_layers = 36, .num_heads = 20, .hidden_size = 1280, .intermediate_size = 5120}},
      {"1558m",
       {.num_layers = 48, .num_heads = 25, .hidden_size = 1600, .intermediate_size = 6400}}};
  return sizes;
}

std::vector<Dimension> dimensions(Gpt2Options& o, Gpt2Dims& d) {
  return {{"num_layers", o.num_layers, d.num_layers},
          {"num_heads", o.num_heads, d.num_heads},
          {"hidden_size", o.hidden_size, d.hidden_size},
          {"intermediate_size", o.intermediate_size, d.intermediate_size},
          {"max_positions", o.max_positions, d.max_positions},
          {"vocab_size", o.vocab_size, d.vocab_size}};
}

namespace {

/// Everything that the blocks' sizes follow from.
struct Shape {
  Gpt2Dims dims;
  std::int64_t B, T, N, C, F, H, D, V, Vp;
  DType compute;
  // low: a CPU computes in bf16 or fp16; weight gradients are made from fp32 casts
  bool dropout, gpu, low;
  bool scaled;  // the loss is multiplied by the scalar loss_scale
  int residual(std::int64_t k) const { return static_cast<int>(k); }
  int branch(std::int64_t k) const { return static_cast<int>(2 * dims.num_layers + k); }
  int logits() const { return static_cast<int>(4 * dims.num_layers); }
};

/// Multiply-adds of scores, or of their product with the values, under a causal mask: one of the
/// two products. Of packed rows it is the most there can be: one document a row.
double causal_product_flops(const Shape& s) {
  return 2.0 * static_cast<double>(s.B * s.H * s.D) * static_cast<double>(s.T) *
         static_cast<double>(s.T + 1) / 2;
}

BlockSpec embedding_block(const ModelGraph& graph, const Shape& s) {
  using S = EmbeddingSlot;
  BlockBuilder b{graph, {.name = "embedding"}};
  b.batch(S::tokens, Gpt2Batch::tokens);
  b.batch(S::positions, Gpt2Batch::positions);
  b.parameters(S::wte, Gpt2Groups::wte);
  b.parameters(S::wpe, Gpt2Groups::wpe);
  b.value(S::residual_out, "residual_out", s.residual(0)).from = {S::tokens, S::wte, S::wpe};
  b.value_gradient(S::d_residual_out, "d_residual_out", s.residual(0));
  b.gradients(S::d_wte, Gpt2Groups::wte);
  b.gradients(S::d_wpe, Gpt2Groups::wpe);
  b.scratch(S::d_embedding, "d_embedding", s.compute, {s.dropout ? s.N : 0, s.C});
  Phase& forward = b.block.phases[Op::forward];
  use(forward, How::read, {S::tokens, S::wte, S::wpe});
  Phase& backward = b.block.phases[Op::backward];
  use(backward, How::read, {S::tokens, S::d_residual_out});
  forward.other_kernels = 1;
  // tokens are sorted, and positions in documents
  backward.other_kernels = s.dims.packed ? 16 : 8;
  if (s.dropout) {
    b.block.slots[S::residual_out].from.push_back(S::positions);
    use(forward, How::read, {S::positions});
    use(backward, How::read, {S::positions});
    use(backward, How::overwrite, {S::d_embedding});
  }
  if (s.dims.packed) {
    b.batch(S::document_starts, Gpt2Batch::document_starts);
    b.block.slots[S::residual_out].from.push_back(S::document_starts);
    use(forward, How::read, {S::document_starts});
    use(backward, How::read, {S::document_starts});
  }
  use(forward, How::overwrite, {S::residual_out});
  use(backward, How::accumulate, {S::d_wte, S::d_wpe});
  return std::move(b.block);
}

/// Where an attention or MLP block keeps the slots that only blocks after the first have.
struct Incoming {
  int residual_in, branch_in, d_residual_in, d_branch_in;
};

/// Slots and uses around the norm, the same in both kinds of block. `k`: which of the 2 *
/// num_layers blocks.
void begin_sublayer(BlockBuilder& b, const Shape& s, int k, Incoming in) {
  using S = SublayerSlot;
  const int group = Gpt2Groups::first_block + k;
  b.batch(S::positions, Gpt2Batch::positions);
  b.parameters(S::parameters, group);
  b.value(S::residual_out, "residual_out", s.residual(k));
  b.saved(S::mean, "mean", DType::f32, {s.N}).from = {S::residual_out};
  b.saved(S::rstd, "rstd", DType::f32, {s.N}).from = {S::residual_out};
  SlotSpec& normed = b.saved(S::normed, "normed", s.compute, {s.N, s.C});
  normed.from = {S::residual_out, S::mean, S::rstd, S::parameters};
  normed.cheap = true;
  b.value(S::branch_out, "branch_out", s.branch(k));
  b.value_gradient(S::d_residual_out, "d_residual_out", s.residual(k));
  b.value_gradient(S::d_branch_out, "d_branch_out", s.branch(k));
  b.gradients(S::d_parameters, group);
  b.scratch(S::d_normed, "d_normed", s.compute, {s.N, s.C});
  Phase& forward = b.block.phases[Op::forward];
  Phase& backward = b.block.phases[Op::backward];
  use(backward, How::read, {S::parameters, S::residual_out, S::mean, S::rstd, S::normed});
  if (s.dropout) use(backward, How::read, {S::d_branch_out});
  if (k == 0) {
    use(forward, How::read, {S::residual_out, S::parameters});
    use(backward, How::modify, {S::d_residual_out});
  } else {
    b.value(in.residual_in, "residual_in", s.residual(k - 1));
    b.value(in.branch_in, "branch_in", s.branch(k - 1));
    b.value_gradient(in.d_residual_in, "d_residual_in", s.residual(k - 1));
    b.value_gradient(in.d_branch_in, "d_branch_in", s.branch(k - 1));
    b.block.slots[S::residual_out].from = {in.residual_in, in.branch_in, S::parameters};
    use(forward, How::read, {in.residual_in, in.branch_in, S::parameters});
    use(backward, How::read, {S::d_residual_out});
    if (s.dropout) {
      b.block.slots[S::residual_out].from.push_back(S::positions);
      use(forward, How::read, {S::positions});
      use(backward, How::read, {S::positions});
      use(backward, How::overwrite, {in.d_branch_in});
    }
    use(forward, How::overwrite, {S::residual_out});
    use(backward, How::overwrite, {in.d_residual_in});
  }
  use(forward, How::overwrite, {S::mean, S::rstd, S::normed});
  use(backward, How::accumulate, {S::d_parameters});
  use(backward, How::overwrite, {S::d_normed});
  if (s.low) use(backward, How::overwrite, {S::cast});
}

BlockSpec attention_block(const ModelGraph& graph, const Shape& s, int layer) {
  using S = AttentionSlot;
  BlockBuilder b{graph, {.name = "h" + std::to_string(layer) + ".attention", .layer = layer}};
  begin_sublayer(b, s, 2 * layer, {S::residual_in, S::branch_in, S::d_residual_in, S::d_branch_in});
  b.scratch(S::cast, "cast", DType::f32, {s.low ? s.N * 4 * s.C : 0});
  b.saved(S::qkv, "qkv", s.compute, {s.N, 3, s.H, s.D}).from = {S::normed, S::parameters};
  b.saved(S::attention_out, "attention_out", s.compute, {s.N, s.H, s.D}).from = {S::qkv};
  b.saved(S::lse, "lse", DType::f32, {s.B, s.T, s.H}).from = {S::qkv};
  b.block.slots[S::branch_out].from = {S::attention_out, S::parameters};
  b.scratch(S::d_qkv, "d_qkv", s.compute, {s.N, 3, s.H, s.D});
  Phase& forward = b.block.phases[Op::forward];
  use(forward, How::overwrite, {S::qkv, S::attention_out, S::lse, S::branch_out});
  forward.attention_flops = 2 * causal_product_flops(s);
  forward.attention_output = S::attention_out;
  forward.other_kernels = 1;
  Phase& backward = b.block.phases[Op::backward];
  use(backward, How::read, {S::qkv, S::attention_out, S::lse});
  use(backward, How::overwrite, {S::d_qkv});
  if (s.dims.packed) {
    b.batch(S::document_starts, Gpt2Batch::document_starts);
    for (const int slot : {S::attention_out, S::lse})
      b.block.slots[slot].from.push_back(S::document_starts);
    use(forward, How::read, {S::document_starts});
    use(backward, How::read, {S::document_starts});
  }
  backward.attention_flops = 5 * causal_product_flops(s);
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
  begin_sublayer(b, s, 2 * layer + 1,
                 {S::residual_in, S::branch_in, S::d_residual_in, S::d_branch_in});
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

BlockSpec head_block(const ModelGraph& graph, const Shape& s) {
  using S = HeadSlot;
  // a GPU needs many rows to be busy
  const std::int64_t R = s.gpu ? std::min<std::int64_t>(s.N, 8192) : logit_rows(s.Vp, s.N);
  const int last = static_cast<int>(2 * s.dims.num_layers) - 1,
            group = Gpt2Groups::first_block + last + 1;
  BlockBuilder b{graph, {.name = "head"}};
  b.value(S::residual_in, "residual_in", s.residual(last));
  b.value(S::branch_in, "branch_in", s.branch(last));
  b.batch(S::positions, Gpt2Batch::positions);
  b.batch(S::targets, Gpt2Batch::targets);
  b.parameters(S::wte, Gpt2Groups::wte);
  b.parameters(S::parameters, group);
  b.value_gradient(S::d_residual_in, "d_residual_in", s.residual(last));
  b.value_gradient(S::d_branch_in, "d_branch_in", s.branch(last));
  b.gradients(S::d_wte, Gpt2Groups::wte);
  b.gradients(S::d_parameters, group);
  b.scalar(S::loss_sum, Gpt2Scalars::loss_sum);
  b.scalar(S::target_count, Gpt2Scalars::target_count);
  if (s.scaled) b.scalar(S::loss_scale, Gpt2Scalars::loss_scale);
  b.value(S::logits, "logits", s.logits()).from = {S::residual_in, S::branch_in, S::targets, S::wte,
                                                   S::parameters};
  b.scratch(S::residual, "residual", s.compute, {R, s.C});
  b.scratch(S::mean, "mean", DType::f32, {R});
  b.scratch(S::rstd, "rstd", DType::f32, {R});
  b.scratch(S::normed, "normed", s.compute, {R, s.C});
  b.scratch(S::logits_chunk, "logits_chunk", s.gpu ? s.compute : DType::f32, {R, s.Vp});
  b.scratch(S::row_loss, "row_loss", DType::f32, {R});
  b.scratch(S::d_normed, "d_normed", s.compute, {R, s.C});
  b.scratch(S::logits_low, "logits_low", s.compute, {s.low ? R : 0, s.Vp});
  b.scratch(S::normed_cast, "normed_cast", DType::f32, {s.low ? R : 0, s.C});
  for (Op op : {Op::loss, Op::evaluate, Op::predict}) {
    Phase& phase = b.block.phases[op];
    use(phase, How::read, {S::residual_in, S::branch_in, S::wte, S::parameters, S::targets});
    if (op == Op::loss) {
      if (s.scaled) use(phase, How::read, {S::loss_scale});
      if (s.dropout) {
        use(phase, How::read, {S::positions});
        use(phase, How::overwrite, {S::d_branch_in});
      }
      use(phase, How::overwrite, {S::d_residual_in});
      use(phase, How::accumulate, {S::d_wte, S::d_parameters});
      use(phase, How::overwrite, {S::d_normed});
      if (s.low) use(phase, How::overwrite, {S::normed_cast});
    }
    if (op == Op::predict)
      use(phase, How::overwrite, {S::logits});
    else {
      use(phase, How::accumulate, {S::loss_sum, S::target_count});
      use(phase, How::overwrite, {S::row_loss});
    }
    use(phase, How::overwrite, {S::residual, S::mean, S::rstd, S::normed, S::logits_chunk});
    if (s.low) use(phase, How::overwrite, {S::logits_low});
    const std::int64_t rows = op == Op::predict ? s.B : s.N;
    add_chunked(phase, rows, R, [&](std::int64_t r) { return Gemm{r, s.Vp, s.C}; });
    phase.other_kernels = (op == Op::loss ? 3 : 2) * ((rows + R - 1) / R);
    if (op != Op::loss) continue;
    add_chunked(phase, rows, R, [&](std::int64_t r) { return Gemm{r, s.C, s.Vp}; });
    add_chunked(phase, rows, R, [&](std::int64_t r) {
      return Gemm{.m = s.Vp, .n = s.C, .k = r, .a_transposed = true};
    });
  }
  return std::move(b.block);
}

}  // namespace

ModelGraph gpt2_graph(const Gpt2Dims& dims, std::int64_t micro_batch_size, std::int64_t length,
                      DType compute, Machine machine) {
  if (dims.hidden_size % dims.num_heads != 0)
    throw InternalError("gpt2_graph: num_heads does not divide hidden_size");
  if (length < 1 || length > dims.max_positions || micro_batch_size < 1)
    throw InternalError("gpt2_graph: length or micro_batch_size out of range");
  if (compute != DType::f32 && size_of(compute) != 2)
    throw InternalError("gpt2_graph: compute is f32, bf16 or f16");
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
  graph.groups = gpt2_groups(dims);
  const auto blocks = static_cast<int>(2 * dims.num_layers);
  for (const char* part : {"residual", "branch"})
    for (int k = 0; k < blocks; ++k)
      graph.values.push_back({part + std::to_string(k), compute, {s.N, s.C}});
  graph.values.push_back({"logits", DType::f32, {s.B, s.V}});
  graph.batch = {{"tokens", DType::i32, {s.B, s.T}},
                 {"targets", DType::i32, {s.B, s.T}},
                 {"positions", DType::i64, {s.B}}};
  if (dims.packed) graph.batch.push_back({"document_starts", DType::i32, {s.B, s.T}});
  graph.scalars = {program::scalar(Role::loss_sum), program::scalar(Role::target_count)};
  if (s.scaled) graph.scalars.push_back(program::scalar(Role::loss_scale));
  graph.blocks.push_back(embedding_block(graph, s));
  for (int layer = 0; layer < dims.num_layers; ++layer) {
    graph.blocks.push_back(attention_block(graph, s, layer));
    graph.blocks.push_back(mlp_block(graph, s, layer));
  }
  graph.blocks.push_back(head_block(graph, s));
  const std::int64_t widest =
      std::max({3 * dims.hidden_size, dims.intermediate_size, dims.padded_vocab_size()});
  const LibraryCalls calls{micro_batch_size, length,         dims.hidden_size, s.D,
                           compute,          dims.attention, dims.packed,      widest};
  graph.library_bytes = machine.gpu ? gpu_library_bytes(calls, machine.deterministic)
                                    : library_bytes(calls, machine.threads);
  return graph;
}

}  // namespace trainx::spec
