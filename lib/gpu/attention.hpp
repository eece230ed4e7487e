// Self-attention on packed queries, keys and values: qkv[B, T, 3, H, D], where heads are grouped
// [B, T, H + 2 K, D], to out[B, T, H, D] and lse[B, H, T] (f32, natural logarithm of the sum of
// exp(scores)); scores are scaled with 1 / sqrt(D) unless the problem says otherwise. d_qkv, as
// qkv, of d_out[B, T, H, D]. With a memory of M tokens of another text qkv are queries alone,
// [B, T, H, D], and keys and values memory[B, M, 2 K, D]. All are contiguous.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include "core/dtype.hpp"
#include "gpu/stream_space.hpp"
#include "kernels/attention/score_biases.hpp"
#include "kernels/random/fused_dropout.hpp"

namespace trainx::gpu {

struct AttentionProblem {
  std::int64_t batch = 0, tokens = 0, heads = 0, head_size = 0;
  DType dtype = DType::bf16;  // bf16, f16 or f32, of all but lse
  bool causal = false;        // a token sees itself and those before it
  // a token sees the first lengths[b] tokens of its sample; rows past a length get zeros, and so do
  // their gradients
  bool padded = false;
  bool deterministic = false;  // backward gives the same bits each time
  bool tf32 = false;           // f32 whose products round operands to 10 mantissa bits
  // causal inside each document of a row; padding behind them gets zeros, and so do its gradients
  bool documents = false;
  // grouped heads and other scores (kernels/attention/grouped_attention.hpp; those that are not
  // causal, nearby_attention.hpp)
  std::int64_t key_value_heads = 0;  // K; 0: as many as query heads
  // a query sees keys at a distance below it, before it or on both sides; 0: all
  std::int64_t window = 0;
  double scale = 0;      // of scores; 0: 1 / sqrt(head_size)
  double soft_cap = 0;   // scores become cap * tanh(score / cap); 0: they stay
  bool dropped = false;  // probabilities are, by a FusedDropout that comes with operands
  // scores have biases by distance or sinks (kernels/attention/biased_attention.hpp)
  bool biased = false;
  bool sinks_alone = false;        // of a biased problem: there are no biases by distance
  std::int64_t memory_tokens = 0;  // M (kernels/attention/across_attention.hpp); 0: no memory
  // of values' heads and the result's, below head_size: they are widened with zeros in the
  // workspace; 0: head_size
  std::int64_t value_size = 0;
  // backward sums the columns of qkv's gradient, too (can_sum_columns(), AttentionColumnSums)
  bool column_sums = false;
  // of the device, 90: 9.0; 0: kernels for one generation alone do not take part
  int compute_capability = 0;

  std::int64_t of_keys() const { return key_value_heads > 0 ? key_value_heads : heads; }
  /// Elements of a row of qkv.
  std::int64_t row() const {
    return heads * head_size + (memory_tokens > 0 ? 0 : of_keys() * (head_size + of_values()));
  }
  std::int64_t of_values() const { return value_size > 0 ? value_size : head_size; }
  bool is_grouped() const { return of_keys() != heads || window > 0 || scale > 0 || soft_cap > 0; }

  friend bool operator==(const AttentionProblem&, const AttentionProblem&) = default;
};

/// "B 64 T 1024 H 12 D 64 bf16 causal deterministic": for error sentences and tables.
std::string describe(const AttentionProblem& p);

/// On the device, 16-byte aligned but for `seen`; null: absent. Elements are of the problem's type.
struct AttentionInputs {
  const void* qkv = nullptr;
  // who sees whom: where the problem is padded i32 [B], lengths from 0 to T, or to M of the memory;
  // where it has documents i32 [B, T], where in the row a token's document begins (-1: padding)
  const std::int32_t* seen = nullptr;
  kernels::FusedDropout dropout = {};  // of a dropped problem
  const void* memory = nullptr;
  // of a biased problem: a table[buckets.count, H] of biases by bucket, ALiBi, sinks[H]
  kernels::DistanceBuckets buckets = {};
  const void* bias_table = nullptr;
  bool alibi = false;
  const void* sinks = nullptr;
  // of ALiBi: kernels::BiasSource's
  std::int64_t first_head = 0, all_heads = 0;
  std::int64_t bias_columns = 0;  // from one row of the bias table to the next; 0: heads
};
/// What backward writes, on the device; null: not wanted.
struct AttentionGradients {
  struct Parameter {
    float* sum = nullptr;
    bool accumulate = false;  // what is there is added to
  };
  void* qkv = nullptr;
  void* memory = nullptr;
  Parameter bias_table = {}, sinks = {};
};

/// Who computes a problem: a pure function of it. hopper: trainx's kernels for compute capability
/// 9.0 (kernels/attention/hopper, always deterministic), for problems that is_by_hopper
/// (core/hopper_kernels.hpp) names: causal ones, of grouped heads, scales, windows, documents and
/// sinks too, and others that are plain, whether they are padded or not; with dropout where there
/// are no sinks. cudnn: bf16 and f16 of at least 2 tokens, with a head size that is a multiple of 8
/// up to largest_cudnn_head(), without a soft cap, dropout, biases or a memory; of grouped heads,
/// windows and scales causal ones. kernels: trainx's own for
/// all GPUs (kernels/attention: the accuracy of fp32 unless tf32 is asked for, always
/// deterministic, head sizes to 256), for all others. Documents are the kernels': libraries have to
/// be told on the host how many there are, and a step is launched as it was captured.
enum class AttentionPath : std::uint8_t { cudnn, hopper, kernels };
AttentionPath path_of(const AttentionProblem& p);
std::string_view name_of(AttentionPath path);

/// May AttentionProblem::column_sums be set?
bool can_sum_columns(const AttentionProblem& p);
/// What backward of a problem with column_sums left at the end of its workspace: sums over tokens
/// of the gradients of queries, fp32 [query_slabs, H * D], and of keys and values, [key_slabs,
/// 2 H * D], each to be summed over its slabs.
struct AttentionColumnSums {
  float *queries = nullptr, *keys_values = nullptr;
  std::int64_t query_slabs = 0, key_slabs = 0;
};
AttentionColumnSums column_sums_in(void* workspace, const AttentionProblem& p);

/// For one device, the current one at construction, and one thread at a time. cuDNN is loaded when
/// a problem first needs it.
class Attention {
 public:
  Attention();
  ~Attention();
  Attention(Attention&&) noexcept;

  /// Of the device, 90: 9.0; 0 without one.
  int compute_capability() const;

  /// Of the workspace that forward and backward need. Builds and keeps the plan of the problem:
  /// take it before capture.
  std::int64_t forward_workspace_bytes(const AttentionProblem& p);
  std::int64_t backward_workspace_bytes(const AttentionProblem& p);

  /// Asynchronous on the stream. May be captured after one uncaptured call of the problem.
  void forward(const AttentionProblem& p, const AttentionInputs& in, void* out, float* lse,
               const StreamSpace& space);
  /// Writes all of the gradients of qkv and memory. `out` and `lse` are what forward gave.
  void backward(const AttentionProblem& p, const AttentionInputs& in, const void* out,
                const float* lse, const void* d_out, const AttentionGradients& to,
                const StreamSpace& space);
  /// out[n, H, D] of the last n rows of one sample, qkv[rows, H + 2 K, D] (p.tokens = rows), whose
  /// rows before them are there already.
  void cached(const AttentionProblem& p, const AttentionInputs& in, void* out, std::int64_t n,
              const StreamSpace& space);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace trainx::gpu
