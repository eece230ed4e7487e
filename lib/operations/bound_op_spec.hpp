// An operation of a block with its operands at their slots: what lib/graph derives and executors
// walk.
#pragma once
#include "operations/list_spec.hpp"
#include "program/program.hpp"

namespace trainx::operations {

using program::Slot;

/// Parameters [first, first + count) of a group, which follow one another, as one tensor. Where
/// they lie in the group a pass may still change.
struct BoundParameter {
  Slot value = program::none, gradient = program::none;  // the group's; none: the operand is absent
  int first = 0, count = 1;
};

/// Where the gradient of an input goes: `to` = what backward brings, plus `addend`, which may be
/// `to`. none: it is not wanted, or there is nothing to add to.
struct BoundGradient {
  Slot to = program::none, addend = program::none;
};

struct BoundOp {
  Operation operation;
  std::vector<Slot> inputs, outputs, scratch;  // none: absent
  std::vector<BoundParameter> parameters;
  std::vector<Slot> output_gradients;          // by output
  std::vector<BoundGradient> input_gradients;  // by input
};

/// Which rows of a micro-batch a head computes: each; those that have a target; the first of each
/// sample.
enum class HeadRows : std::uint8_t { all, targets, first };

/// A block of operations, in the order of forward.
struct BoundBlock {
  std::vector<BoundOp> forward;
  std::vector<BoundOp> remade;     // what backward computes anew before it begins
  std::vector<BoundOp> backward;   // in the order of forward
  std::vector<BoundOp> evaluated;  // of a head: its forward without dropout
  std::vector<BoundOp> casts;      // of weights that are cast once a run
  std::int64_t length = 0;         // tokens of a sample
  // rows of the micro-batch that a rank has of those that share it; 0: all
  std::int64_t rows_of_part = 0;
  // of the last block, which goes through rows some at a time:
  HeadRows rows = HeadRows::all;
  std::int64_t chunk = 0;  // rows at a time; 0: tensors are whole, as in every other block
  Slot row_index = program::none, row_targets = program::none;  // of rows that are picked
  Slot targets = program::none;
  Slot logits = program::none;       // the value that predict leaves
  Slot last_logits = program::none;  // of a chunk
  Slot loss_sum = program::none, target_count = program::none, score = program::none,
       loss_scale = program::none;
  Slot loads = program::none;  // ExpertLoads'
  // of tensors that are cast to fp8: Fp8Site; of delayed scaling also the ranges that are known
  Slot fp8_counts = program::none, fp8_ranges = program::none;
  Slot fp8_scales = program::none;  // of weights that arrive in fp8: ParameterSpec::fp8_scale
};

}  // namespace trainx::operations
