// Matrix products by cuBLASLt, with an algorithm per shape: the library's own choice, or the
// fastest of its candidates measured at the power limit. Some by trainx's own kernels, which are
// measured in the same way.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>
#include "gpu/gemm_problem.hpp"
#include "gpu/stream_space.hpp"

namespace trainx::gpu {

/// A [m, k] B of few columns, added to columns [first, first + width) of D; B lies as the problem's
/// does, its rows densely.
struct AddedGemm {
  const void* a = nullptr;
  std::int64_t lda = 0;
  const void* b = nullptr;
  std::int64_t k = 0, first = 0, width = 0;
};

/// Device addresses.
struct GemmOperands {
  const void* a = nullptr;
  const void* b = nullptr;
  void* d = nullptr;
  const void* c = nullptr;     // with accumulate: what is added, laid out as D; null: D itself
  const void* bias = nullptr;  // [n]; 16-byte aligned
  // [m, n]: written by bias_gelu_tanh, read by gelu_tanh_grad; 16-byte aligned, rows a multiple of
  // 8 elements apart
  void* aux = nullptr;
  // of own gradients of a GELU: [own_gemm_slabs(p), n], sums of columns of D; null: not wanted
  float* column_sums = nullptr;
  // What A and B in fp8 are multiplied by: as many as GemmProblem's a_scales and b_scales say, of
  // A [m, k] and B [n, k] in the layout of kernels/quantize/fp8_bits.hpp; 16-byte aligned.
  const float* a_scale = nullptr;
  const float* b_scale = nullptr;
  float scale = 1;                    // of AB, without an epilogue; own kernels have none
  std::vector<AddedGemm> added = {};  // where GemmProblem::added_k says so
};

struct GemmTuning {
  int candidates = 48;  // asked of cuBLASLt for each shape
  // back to back: shorter bursts run above the power limit's clock and choose wrong
  double ms_per_candidate = 50;
  double seconds_per_problem = 3;  // candidates that are not reached by then are not looked at
};

struct GemmTimes {
  double heuristic_ms = 0;  // the library's first choice, sustained
  double chosen_ms = 0;
  int candidates = 0;  // that ran
};

/// For one device, the current one at construction, and one thread at a time.
class Gemm {
 public:
  /// A workspace of this many bytes makes every candidate possible.
  static constexpr std::int64_t workspace_bytes = 32 << 20;

  /// `cache_file`: tuned choices of earlier processes, by GPU, library and shape; one that is
  /// missing or unreadable is empty. "" for none. Throws GpuError 69 without cuBLASLt or a GPU.
  explicit Gemm(std::string cache_file = default_cache_file());
  ~Gemm();
  Gemm(Gemm&&) noexcept;
  /// ${XDG_CACHE_HOME:-~/.cache}/trainx/gemm.json; "" where neither variable is set.
  static std::string default_cache_file();
  /// What choices hold for: "NVIDIA H200, cuBLASLt 130100".
  const std::string& machine() const;

  /// Asynchronous on the stream, allocates nothing on the device. May be captured after one
  /// uncaptured call with the same problem, alignments of the addresses and workspace bytes. D, C
  /// (where it is not D), A and B do not overlap. Empty products do nothing, or write zeros (k =
  /// 0).
  void run(const GemmProblem& p, const GemmOperands& operands, const StreamSpace& space);

  /// Measures the candidates for `p` (with 256-byte aligned operands) and keeps the fastest for
  /// later calls of `run`; what the cache file knows is not measured again: nothing is returned
  /// then. `scratch` is 256-byte aligned device memory that may be overwritten, tuning_bytes(p) of
  /// it: no operand of a run is touched. Waits for the device.
  std::optional<GemmTimes> tune(const GemmProblem& p, const StreamSpace& space, void* scratch,
                                std::int64_t scratch_bytes, const GemmTuning& tuning = {});
  /// Counts as met, so that it is tuned as well: another way to do what was run.
  void consider(const GemmProblem& p);
  /// Those that `run` has met with 256-byte aligned operands and whose fastest algorithm is not
  /// known yet.
  std::vector<GemmProblem> untuned(std::int64_t workspace_bytes) const;
  static std::int64_t tuning_bytes(const GemmProblem& p);
  /// Sustained time of the choice for `p` where it was tuned, by this process or an earlier one:
  /// whether an epilogue pays for a shape is time(with) < time(without) + what the kernel that it
  /// replaces takes.
  std::optional<double> tuned_ms(const GemmProblem& p) const;
  /// Adds what was tuned to the cache file; other processes' entries stay. Throws UserError 73 or
  /// 74 where it cannot be written.
  void save_tuned() const;

  /// The algorithms of all problems met so far, as JSON. A process that is given them before its
  /// first `run` uses the same ones, and with them gives the same bits; it throws GpuError 69 where
  /// GPU or library are others, or an algorithm is refused.
  std::string choices() const;
  void replay(const std::string& choices);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace trainx::gpu
