// What a model looks like to the planner: groups of parameters, values, and blocks whose operands
// are declared in bytes. lib/architectures makes one per (micro-batch, length, dtype); lib/model
// implements the same blocks; a pass sees nothing else of a model.
#pragma once
#include "core/dtype.hpp"
#include "core/work.hpp"
#include "program/parts.hpp"
#include "program/program.hpp"
#include "program/shared_vector.hpp"
#include "program/slice.hpp"
#include <cstdint>
#include <map>
#include <memory>
#include <optional>

namespace trainx::graph {
struct Composition;  // graph/to_blocks.hpp
}

namespace trainx::program {

struct TensorSpec {
  std::string name;
  DType dtype = DType::f32;
  std::vector<std::int64_t> dims;
  std::int64_t elements() const;
  Bytes bytes() const { return elements() * size_of(dtype); }
};

/// A number of the step, or several: is_scalar(role), f64.
struct ScalarSpec : TensorSpec {
  Role role{};
};
/// Tokens of each expert that a step counted, f64 [layers with experts, experts + 1]; the last
/// column: choices that no expert computed.
constexpr std::string_view expert_loads = "expert_loads";
/// Elements that a step cast to fp8, and what became of them: operations::Fp8Site.
constexpr std::string_view fp8_counts = "fp8_counts";
/// Called as its role is.
ScalarSpec scalar(Role role);
/// Scales of weights in fp8: f32 [tensors, fp8_scale_stride], each at 16 bytes.
constexpr std::int64_t fp8_scale_stride = 4;
/// One that evaluation sums besides, e.g. "correct".
ScalarSpec metric(std::string name, std::vector<std::int64_t> dims = {1});

// constructed: by the module that the parameter is of
enum class Initializer : std::uint8_t { zeros, ones, normal, uniform, constructed };

/// One parameter tensor inside its group's buffer.
struct ParameterSpec {
  // as in the Hugging Face folder, e.g. "h.0.attn.c_attn.weight"
  std::string name;
  // inside trainx: padded vocabulary, Linear weights as [out, in]
  std::vector<std::int64_t> dims;
  // elements from the start of the group, a multiple of group_alignment, or where the parameter
  // before ends
  std::int64_t offset = 0;
  bool decay = false;  // weight decay applies: matrices and embeddings
  Initializer initializer = Initializer::zeros;
  double standard_deviation = 0;  // of Initializer::normal
  double bound = 0;               // of Initializer::uniform, from -bound to bound
  // of Initializer::normal: the row that begins as zero (the padding token's)
  std::int64_t zero_row = none;
  bool embedding = false;  // its rows are looked up
  // a head of the task at hand: a folder made for another task lacks it, and training begins with a
  // new one
  bool optional = false;
  bool may_be_absent = false;            // in the folder: then it is zeros
  bool of_adapter = false;               // the model's folder has none
  bool by_token = false;                 // its rows (of a bias: its elements) are the vocabulary's
  std::vector<std::int64_t> saved_dims;  // in the folder: before a transpose and without padding
  // the folder holds [in, out] (GPT-2's Conv1D); of three dimensions [experts, in, out]
  bool saved_transposed = false;
  // rows are queries, keys and values of so many heads; the folder holds those of a head behind one
  // another (GPT-NeoX); 0: as they are
  std::int64_t saved_heads = 0;
  // of an adapter of stacked experts [experts, out, rank]: the folder holds [out, rank * experts]
  bool saved_experts_last = false;
  // the bias of a router's choice, of which layer of those with experts: Op::balance moves it
  int expert_layer = none;
  // of a group that blocks read in fp8: the number of its scale (Role::fp8_scales), which tensors
  // that a block reads as one share
  int fp8_scale = none;
  // of a group in parts: the part that the tensor is in; none: each part has as much of it along
  // one of its dimensions
  int part = none;
  int cut_dimension = 0;
  // ... of each of the sections of its rows, of as many rows: queries, keys and values in one
  // tensor; empty: there is one
  std::vector<std::int64_t> sections = {};
  Slice slice = {};  // of a part of a tensor (shards.hpp)
  // ... and how many elements the tensor has, without those that pad a vocabulary; 0: it is whole
  std::int64_t of_elements = 0;
  std::int64_t elements() const;
  // of its last dimension, without those that pad a vocabulary
  std::int64_t rows() const;
  std::int64_t tensor_elements() const;  // of the whole tensor, without those that pad a vocabulary
};
// elements: 256 bytes in bf16. The gaps hold zeros and are never used.
constexpr std::int64_t group_alignment = 128;

/// How parameters are trained, where a recipe says more than the optimizer's options.
struct GroupTraining {
  // else the parameters are constants: no gradient, no states, no exact weights, no update
  bool trained = true;
  double lr_scale = 1;                      // times the step's learning rate
  std::optional<double> weight_decay = {};  // instead of the optimizer's
  bool operator==(const GroupTraining&) const = default;
};

/// Parameters that blocks share: read together, owned together, trained alike. Decayed tensors come
/// first.
struct GroupSpec {
  std::string name;
  std::vector<ParameterSpec> parameters;
  std::int64_t elements = 0;  // with gaps
  GroupTraining training = {};
  bool fp8 =
      false;  // a step casts it to e4m3 once, by a scale for each tensor, and blocks read that
  // Experts of as many ranks: parts that are alike (part_of, shards.hpp), one after the other. A
  // rank's blocks compute with one of them.
  Parts parts = {};
  std::shared_ptr<const std::vector<ParameterSpec>> of_part = {};  // null: there is one
  std::int64_t part_elements() const { return elements / parts.count; }
  /// As blocks see them.
  const std::vector<ParameterSpec>& in_blocks() const { return of_part ? *of_part : parameters; }
};

/// How a value, or its gradient, lies over the ranks that share experts, as one block sees it.
/// Where the block that makes it and the one that reads it differ, the ranks exchange it.
enum class ValueState : std::uint8_t {
  of_tokens,  // each rank has the rows of its own tokens
  of_part,    // each rank has the rows of all their tokens that its experts compute
};

/// One operand of a block. Which buffer it becomes is the program's business; the block sees it as
/// a tensor by its slot.
struct SlotSpec {
  std::string name;  // "residual_out", "qkv", ...
  Role role{};
  // value, value_gradient: which value; parameter, gradient: which group; batch, scalars: which of
  // graph.batch, graph.scalars
  int index = none;
  // saved, cast_weight and scratch: its own; otherwise of what `index` names
  TensorSpec tensor;
  ValueState state = ValueState::of_tokens;  // of value and value_gradient
  // forward outputs (values written, saved, cast_weight): the slots it is computed from, so that a
  // pass knows what recomputing it takes
  std::vector<Slot> from;
  // saved only: selective recomputation drops it
  bool cheap = false;
  Space space = Space::device;  // saved only: library, where the library keeps it
  // saved only: rows of the tokens before are needed with those of the next ones
  bool cached = false;
  // cast_weight only: of a weight that is not trained. Op::cast_weights makes it, all else reads it
  bool once_a_run = false;
  // batch only: the rows of the part that the rank computes, as many elements behind one another
  bool own_rows = false;
};

struct SlotUse {
  Slot slot;
  How how;
};
/// C[m, n] += A[m, k] B[k, n], `count` of them. Of a forward, `output` is the slot it makes: it is
/// recomputed only with that.
struct Gemm {
  std::int64_t m = 0, n = 0, k = 0, count = 1;
  Slot output = none;
  bool a_transposed = false;  // A lies in memory as [k, m]: of a weight gradient
  bool fp8 = false;           // operands are in fp8, whatever the graph computes in
  bool of_experts = false;    // rows of all experts, each by its own weight, in one launch
  /// The largest of 16, 8, 4, 2 and 1 bytes that the operands' and the result's rows are whole
  /// multiples of; the tensor cores' fast kernels want 16.
  std::int64_t row_alignment(DType operands) const;
};

/// Kernels beside products and attention, as far as they are told apart in a captured step.
enum class KernelFamily : std::uint8_t {
  embedding,
  norm_forward,
  norm_backward,
  activation,
  column_sum,
  dropout,
  cross_entropy,
  rows,
  quantize,
  transpose,
};
struct KernelLaunches {
  KernelFamily family{};
  std::int64_t count = 1;
};
/// Arithmetic beside products, and the bytes that it goes over memory for. `output`: as
/// Gemm::output.
struct ElementWork {
  Work work{};
  double flops = 0, bytes = 0;
  Slot output = none;
};

/// A parameter that a forward casts, where the step has no copy yet (Role::cast_weight): kernels
/// and bytes beside the rest of the phase, of which an instruction that reads the copy has none.
struct ParameterCast {
  Slot copy = none, parameter = none;  // the copy's values; the parameter's group
  std::int64_t kernels = 0;            // in Phase::kernels and other_kernels, too
  double parameter_bytes = 0;          // of the parameter, once
  double bytes = 0;                    // that go over memory
};

/// What one operation of a block uses, in the order of printing, and costs.
struct Phase {
  std::vector<SlotUse> uses;
  std::vector<Gemm> gemms;
  double attention_flops = 0;
  Slot attention_output = none;     // as Gemm::output
  std::int64_t attention_head = 0;  // elements of a head
  std::int64_t attention_rows = 0;  // of all samples and heads, a token each
  double attention_keys = 0;        // that one of them sees, on average; 0: not known
  bool attention_causal = false;
  bool plain_attention = false;   // none of the fused kernels, whatever the head
  bool own_attention = false;     // trainx's kernels, because libraries have none
  bool hopper_attention = false;  // trainx's kernels for Hopper
  bool dropped_attention = false;
  bool wide_attention = false;  // a library's kernels that take heads above 128
  // that a GPU launches beside products and attention: norms, activations, sums
  std::int64_t other_kernels = 0;
  std::vector<KernelLaunches> kernels;  // what those are, as far as operations say
  std::vector<ElementWork> element_work;
  std::vector<ParameterCast> parameter_casts;
  // where it was measured, instead of what is derived from the above; 0: it was not
  double measured_s = 0;
  double gemm_flops() const;  // 2 m n k each
  std::int64_t launches_of(KernelFamily family) const;
};

struct BlockSpec {
  std::string name;  // "embedding", "h0.attention", "h0.mlp", "head"
  // blocks of one layer are recomputed together; none: never (embedding, head)
  int layer = none;
  std::vector<SlotSpec> slots;
  // forward and backward; or loss, evaluate and predict for the last block
  std::map<Op, Phase> phases;
  // by which random numbers are drawn: the block's number, whatever blocks it is cut into; none:
  // its place among the blocks
  int random_key = none;
  // by which casts to fp8 are counted: the block's number, whatever pieces ranks compute of it;
  // none: its place among the blocks
  int cast_number = none;
  // Computes the rows of as many ranks with the experts of one of them. Values, what is saved and
  // scratch are in as many pieces, each computed by itself: of a rank; of the values that go in and
  // out of the block, as other blocks see them, of each rank's experts.
  BlockParts parts = {};
  ExchangeKind exchange = ExchangeKind::nothing;  // among the ranks along parts.exchange
};

/// Does that operation of a block that exchanges sum rows of all ranks? Else each gets them all, or
/// a part of each.
constexpr bool sums_rows(ExchangeKind kind, Op op) {
  return (kind == ExchangeKind::sums_to_rows) != (op == Op::backward);
}

/// Does it hold the bias of a router's choice?
inline bool is_balanced(const GroupSpec& g) {
  for (const ParameterSpec& p : g.parameters)
    if (p.expert_layer != none) return true;
  return false;
}

/// Blocks in topological order; values and batch tensors in the sizes of one micro-batch.
struct ModelGraph {
  SharedVector<GroupSpec> groups;
  SharedVector<TensorSpec> values;
  // which of data::BatchView's fields the model reads, by name: tokens, targets, positions,
  // token_types, lengths, labels
  std::vector<TensorSpec> batch;
  // what blocks add up over a step, or read of the run's (loss_scale)
  std::vector<ScalarSpec> scalars;
  SharedVector<BlockSpec> blocks;
  // the operations that blocks are made of, for who computes them; no pass looks at it
  std::shared_ptr<const graph::Composition> composition;
  // by which each step moves biases of routers (ParameterSpec::expert_layer); 0: they stay
  double balance_rate = 0;
  DType compute = DType::f32;  // of parameters and values
  // of parameters, where they lie in another type: forward_program casts them on the way to the
  // blocks
  std::optional<DType> stored;
  std::int64_t tokens = 0;  // of one micro-batch
  // encoder-decoders: the value that the decoder attends to, and the first block that is not the
  // encoder's; none: the model reads and writes one text
  int memory = none, first_of_targets = none;
  // rows with a target that the last block computes at a time, where it computes those alone; 0: it
  // computes all rows
  std::int64_t target_chunk = 0;
  std::int64_t target_rows = 0;  // that its products are declared for, where it does
  // most that library calls of one instruction allocate outside the arena
  Bytes library_bytes = 0;
  std::string without_gpu_kernel;  // name of an operation that GPUs have no kernel for; "": none
  int layers() const;              // that blocks belong to
};

/// By value: into how many pieces blocks cut it that compute those of all ranks (BlockSpec::parts);
/// 1: none does.
std::vector<int> parts_of_values(const ModelGraph& graph);

}  // namespace trainx::program
