#pragma once
#include "operations/op_spec.hpp"

namespace trainx::operations {

struct Dropout;  // dropout/dropout.hpp

/// What is added to columns [first, first + width) of a product's result.
struct LowRankPart {
  std::int64_t first = 0, width = 0, rank = 0;
  double scale = 1;
  bool operator==(const LowRankPart&) const = default;
};

/// Adapters of a linear layer's parts: y[N, out] = base[N, out], to whose columns each part adds
/// scale * drop(x)[N, in] a[rank, in]^T b[width, rank]^T (LoRA: Hu et al. 2021, arXiv:2106.09685,
/// section 4.1). Parts ascend and do not overlap. Each drops elements of its own. With `weight` the
/// operation is the layer as well: base = x weight[out, in]^T + bias, which a GPU may compute by
/// the same kernel.
struct LowRank {
  static constexpr std::string_view name = "low_rank";
  static constexpr Work work = Work::norm;  // beside products
  static constexpr bool of_rows_alone = true;
  /// base: the layer's result; without `weight` it may be absent, where the parts cover all
  /// columns: y is what is added.
  enum Input : int { x, base, positions };
  /// weight, bias: of the layer, frozen; they may be absent. a: those of all parts, [ranks, in],
  /// one behind the other; b_of(part): b of that one.
  enum Parameter : int { weight, bias, a, first_b };
  /// narrow: scale * drop(x) a^T, [N, ranks].
  enum Output : int { narrow, y };
  static constexpr int b_of(std::size_t part) { return first_b + static_cast<int>(part); }

  std::vector<LowRankPart> parts;
  double dropout = 0;
  std::int64_t length = 1;  // rows of a sample
  int first_site = 0;       // of the block's dropouts: the first part's; others follow
  int input_parts = 1;      // x has the columns of one of so many parts of what is dropped

  bool operator==(const LowRank&) const = default;

  std::vector<OutputSpec> outputs(const Types& t) const;
  BackwardSpec backward(const Types& t) const;
  Cost cost(Direction direction, const Types& t) const;
  std::optional<Split> split(SplitAxis axis, const Types& t) const;
  bool has_gpu_kernel(const Types& t) const;
  void run_forward(const OpContext& c) const;
  void run_backward(const OpContext& c) const;

  // narrow_gradient: of `narrow`, whole; dropped: x without what is dropped, or its gradient
  // before; cast: as Linear has it
  enum Scratch : int { narrow_gradient, dropped, cast, scratch_count };

 private:
  std::int64_t ranks() const;
  /// Of y, where it is not base's.
  std::int64_t width(const Types& t) const {
    return t.has_parameter(weight) ? t.parameters[weight].rows()
                                   : parts.back().first + parts.back().width;
  }
  /// Of `a`: all parts by one product.
  bool multiplies_at_once() const;
  /// What the part drops of x[N, in].
  Dropout dropout_of(const OpContext& c, std::size_t part, std::int64_t in) const;
  /// Columns of base that no part adds to are copied: runs of them.
  std::vector<LowRankPart> gaps(std::int64_t out) const;
  void run_y(const OpContext& c, const Tensor& rows, const Tensor& low) const;
  void run_input_backward(const OpContext& c, const Tensor& dy, const Tensor& d_narrow) const;
};

}  // namespace trainx::operations
