// What a step on a GPU will be seen to be made of: from the recipe and the model alone, so that a
// program, a library or an executor that does something else is found out.
#pragma once
#include "plan/run_plan.hpp"
#include <cstdint>

namespace trainx::plan {

struct ExpectedKernels {
  bool captured = true;  // steps are replayed as a CUDA graph
  // whose kernels: automatic, cuDNN's or trainx's own
  AttentionKind attention = AttentionKind::automatic;
  // inside each document of a row: trainx's own kernels, that look at documents
  bool documents = false;
  // layers have windows of several widths, which may be several kernels
  bool mixed_windows = false;
  // launches of fused attention in a step; recomputed ones count. None by math, whose products are
  // among the others
  std::int64_t attention_forward = 0;
  std::int64_t attention_backward = 0;
  std::int64_t matrix_products = 0;  // without those that are recomputed
  bool products_recomputed = false;  // then there are more of them
  // of those, that the kernel of another one may make as well, as was measured
  std::int64_t products_added = 0;
  std::int64_t fp8_products = 0;  // of those
  // launches of the kernel that casts to fp8; recomputed ones count
  std::int64_t fp8_casts = 0;
  bool fp8_blocks = false;            // that kernel makes scales of vectors and blocks
  std::int64_t norms_recomputed = 0;  // launches of a norm's forward beyond one for each backward
  // as the recipe has it, from which recomputations follow: "selective"
  std::string activation_checkpoint;
  // of the optimizer's kernel in a step: one for each place in backward where gradients become
  // complete; 0: not counted
  std::int64_t update_launches = 0;
  // over ranks, in what gradients travel in: "f32", "bf16"; empty: there is one rank
  std::string summed;
  // each rank gets its shard of those sums, and weights are gathered
  bool sharded = false;
  bool exchanged = false;            // rows go to the experts of other ranks
  std::int64_t offloaded_bytes = 0;  // that a step copies to the host and back, at least
  // of groups, by the host: then the GPU launches no optimizer, but for those that stay
  std::int64_t host_updates = 0;
  bool updates_stay = false;  // of some groups, beside those
  // that a step copies for them, at least
  std::int64_t gradients_out_bytes = 0, weights_back_bytes = 0;
  // of those, that leave as bf16: launches of the kernel that rounds, at least
  std::int64_t gradients_rounded = 0;
  // that a step copies of weights which lie on the host or a disk, at least
  std::int64_t parameters_in_bytes = 0, parameters_out_bytes = 0;
  bool weights_on_disk = false;
  std::string update;  // the optimizer's kernel: "adamw_kernel", "SgdRule"
  // what the optimizer's kernel keeps: "SplitWeights", "MasterWeights", "Bf16Weights",
  // "StochasticWeights", "HalfWeights", "Fp32Weights"
  std::string weights;
};

/// Of the program with this graph. `target_rows`: of the batch that was computed, where it decides
/// (ModelGraph::target_chunk); 0: as many as declared. `rank`: whose shards are looked at.
/// `duties`: of its role.
ExpectedKernels expected_kernels(const Draft& plan, const program::ModelGraph& graph,
                                 std::int64_t target_rows = 0, int rank = 0,
                                 const Duties& duties = {});

}  // namespace trainx::plan
