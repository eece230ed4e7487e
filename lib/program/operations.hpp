// Slots of the operations that are not a block's: what each use of such an instruction means.
#pragma once
#include "program/program.hpp"

namespace trainx::program {

/// fetch_batch: step > batch tensors, first_batch + i for graph.batch[i]
struct FetchSlot {
  enum : Slot { step, first_batch };
};
/// copy: from > to. cast: from > to of another type. add: from > +to, which may be wider.
struct CopySlot {
  enum : Slot { from, to };
};
/// Of groups that blocks read in fp8 (GroupSpec::fp8), all at once. fp8_scale: their parameters
/// (from(group)), fp8_ranges > fp8_scales, of the parts of tensors that are here; 0 where none is.
/// quantize: the same parameters, fp8_scales, fp8_ranges > to(group), +fp8_counts.
struct QuantizeSlot {
  enum : Slot { scales, ranges, counts, first_group };
  static constexpr Slot from(int group) { return first_group + 2 * group; }
  static constexpr Slot to(int group) { return first_group + 2 * group + 1; }
  static constexpr bool is_from(Slot s) { return s >= first_group && (s - first_group) % 2 == 0; }
  static constexpr int group_of(Slot s) { return (s - first_group) / 2; }
};
/// reduce: each thing is summed over ranks in place; of fp8_scales the largest is taken. broadcast:
/// as many things, read at one rank and overwritten at the others.
struct ReduceSlot {
  static constexpr Slot thing(int k) { return k; }
};
/// scatter: full > the sum over ranks of one's own shard; gather: shard > full, of each thing k.
/// Until lower_collectives a scatter may also add to the shard. all_to_all: as many slots as ranks
/// > those that the ranks have for this one, in their order, of each thing k.
struct ShardSlot {
  static constexpr Slot from(int k) { return 2 * k; }
  static constexpr Slot to(int k) { return 2 * k + 1; }
};
/// grad_norm: the gradients of all groups (first_gradient + group) > norm2, the sum of squares
struct NormSlot {
  enum : Slot { norm2, first_gradient };
};
/// update of one group: gradient norm2 target_count applied lr_table loss_scale sums > ~states
/// ~master ~parameter master: fp32, or the low 16 bits beside a bf16 parameter; absent when the
/// parameter itself is fp32. loss_scale: present where losses are scaled. sums: present where only
/// parts of tensors are here, and the optimizer updates whole ones: what `measure` made of all
/// parts, a buffer for each of its rounds. measure of one group, before its update: as the update,
/// all read > sums over the parts that are here, which are then summed over ranks; what went before
/// it are the sums of the rounds before. In the last round states that tensors have (Buffer::whole)
/// move on, by the sums that are known, and the update reads them.
///
/// balance of one group, whose biases of routers move towards even loads: gradient (the loads of
/// experts, a scalar of the graph) norm2 > ~parameter (not moved where norm2 is not finite)
struct UpdateSlot {
  enum : Slot {
    gradient,
    norm2,
    target_count,
    applied,
    lr_table,
    loss_scale,
    first_sums,
    last_sums = first_sums + 1,
    parameter,
    master,
    first_state
  };
  static constexpr bool is_sums(Slot s) { return s == first_sums || s == last_sums; }
};
/// advance_step: ~step. advance_applied: norm2 > ~applied (not advanced where norm2 is not finite),
/// or norm2 > ~loss_scale (smaller where norm2 is not finite), or norm2 fp8_counts > ~fp8_ranges
/// (not advanced where norm2 is not finite)
struct AdvanceSlot {
  enum : Slot { counter, norm2, loss_scale, fp8_counts, fp8_ranges };
};
/// report: what the host is told of a step; first_metric + k: graph.scalars[k], where evaluation
/// sums more than the loss
struct ReportSlot {
  enum : Slot { loss_sum, target_count, norm2, applied, lr_table, loss_scale, first_metric };
};

}  // namespace trainx::program
