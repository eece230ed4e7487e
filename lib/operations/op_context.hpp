// What one operation of a block computes with.
#pragma once
#include "operations/block_context.hpp"
#include "operations/bound_op_spec.hpp"
#include "operations/dropout/dropout.hpp"

namespace trainx::operations {

struct ModuleState;  // module/module_state.hpp

/// x[N, ...] as [N, columns].
inline Tensor by_row(const Tensor& x) { return x.dim() <= 2 ? x : x.view({x.size(0), -1}); }

/// Rows of the output that belong to x: all, unless it is a cache of rows before them.
inline Tensor rows_like(const Tensor& x, const Tensor& out, std::int64_t past) {
  return out.size(0) == x.size(0) ? out : out.narrow(0, past, x.size(0));
}

/// Rows [first, first + count) of those that a head computes, which scratch holds from row `at` on.
struct RowRange {
  std::int64_t first = 0, count = 0, at = 0;
};

/// Operands of `op` in the block's instruction; undefined tensors: absent, or not used by it.
/// Inside a head those of some rows. Cheap to make: it looks up what is asked for.
class OpContext {
 public:
  OpContext(const BlockContext& block, const BoundBlock& bound, const BoundOp& op,
            RowRange rows = {}, ModuleState* module = nullptr)
      : block_(block), bound_(bound), op_(op), rows_(rows), module_(module) {}

  Tensor input(int i) const { return operand(slot(op_.inputs, i)); }
  int input_count() const { return static_cast<int>(op_.inputs.size()); }
  /// Is it a tensor of the micro-batch, of which there is no gradient?
  bool is_batch(int input) const {
    const Slot s = slot(op_.inputs, input);
    return s != program::none && block_.role(s) == program::Role::batch;
  }
  Tensor output(int i) const { return operand(slot(op_.outputs, i)); }
  /// Does the instruction write that output?
  bool writes(int i) const {
    return is_used(slot(op_.outputs, i)) && block_.writes(op_.outputs[static_cast<std::size_t>(i)]);
  }
  Tensor scratch(int i) const { return operand(slot(op_.scratch, i)); }
  bool writes_scratch(int i) const {
    return is_used(slot(op_.scratch, i)) && block_.writes(op_.scratch[static_cast<std::size_t>(i)]);
  }
  Tensor parameter(int i) const { return parameter_in(i, false); }
  Tensor parameter_gradient(int i) const { return parameter_in(i, true); }
  /// f32 [1]: of a parameter that arrives in fp8.
  Tensor fp8_scale(int parameter) const;
  /// Is the parameter's gradient added to? Only the first rows of a head may overwrite. False of a
  /// parameter that has none.
  bool accumulates(int parameter) const;
  /// Gradients are [N, columns]: memory of one serves another of other dims.
  Tensor output_gradient(int i) const { return by_row(operand(slot(op_.output_gradients, i))); }
  Tensor input_gradient(int i) const { return by_row(operand(gradient(i).to)); }
  /// What is added to that gradient.
  Tensor addend(int i) const { return by_row(operand(gradient(i).addend)); }
  /// None in evaluation. `positions`: which input says the samples' positions.
  Dropout dropout(double probability, int positions, std::int64_t length, int site = 0) const;
  std::int64_t length() const { return bound_.length; }  // tokens of a sample
  std::int64_t past() const { return block_.past(); }
  /// Where in its sample the first row lies that this rank has of its own.
  std::int64_t first_in_sample() const {
    return bound_.rows_of_part > 0 ? row_part() * bound_.rows_of_part % bound_.length : 0;
  }
  int layer_part() const { return block_.place().layer; }
  int row_part() const { return block_.place().rows; }
  int head_part() const { return block_.place().heads; }
  bool training() const { return block_.training(); }
  /// Does the head pick rows, which are input `rows` of who reads them?
  bool picks_rows() const { return bound_.chunk > 0 && bound_.rows != HeadRows::all; }
  bool is_first_chunk() const { return rows_.first == 0; }
  const BlockContext& block() const { return block_; }
  /// The block's. InternalError if it was made without one.
  ModuleState& module() const;
  const BoundBlock& bound() const { return bound_; }
  /// As it is, whatever rows are at hand.
  Tensor whole(Slot s) const { return is_used(s) ? block_[s] : Tensor(); }

 private:
  template <class T>
  static bool has(const std::vector<T>& all, int i) {
    return static_cast<std::size_t>(i) < all.size();
  }
  static Slot slot(const std::vector<Slot>& all, int i) {
    return has(all, i) ? all[static_cast<std::size_t>(i)] : program::none;
  }
  BoundGradient gradient(int i) const {
    return has(op_.input_gradients, i) ? op_.input_gradients[static_cast<std::size_t>(i)]
                                       : BoundGradient{};
  }
  bool is_used(Slot s) const { return s != program::none && block_.has(s); }
  Tensor operand(Slot s) const;
  Tensor parameter_in(int i, bool gradient) const;

  const BlockContext& block_;
  const BoundBlock& bound_;
  const BoundOp& op_;
  RowRange rows_;
  ModuleState* module_;
};

}  // namespace trainx::operations
