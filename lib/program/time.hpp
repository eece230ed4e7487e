// predict_time: how long a step takes on a machine whose rates were measured, and what bounds it.
#pragma once
#include "program/collective_rates.hpp"
#include "program/model_graph.hpp"
#include "program/order.hpp"
#include "program/tiles.hpp"
#include <cstdint>

namespace trainx::program {

/// What the optimizer's kernels take on a GPU.
struct UpdateRates {
  // of an element, where a kernel computes longer than memory takes
  double element_s = 0;
  // weights and states once more, when sums over whole tensors are there
  bool reads_twice = false;
  // one after the other, for all updates that follow each other
  int kernels = 1;
  bool operator==(const UpdateRates&) const = default;
};

/// Of fused attention with heads of one size, forward and backward together. What a row
/// takes beside its keys, in keys: with a mask some of a tile are computed for nothing.
struct FusedAttention {
  double flops_per_s = 0;  // of long rows; 0: not known
  double lost_keys = 0, lost_keys_causal = 0;
  bool operator==(const FusedAttention&) const = default;
};

/// Sustained rates of one rank's device and links, measured; `source` says where and when.
struct Rates {
  std::string name, source;
  double gemm_flops_per_s = 0, attention_flops_per_s = 0;
  double memory_bytes_per_s = 0, host_bytes_per_s = 0, link_bytes_per_s = 0, disk_bytes_per_s = 0;
  double launch_s = 0;  // fixed cost of an instruction
  // what a kernel of a GPU takes beyond its work: until all of the chip is busy, and while it no
  // longer is
  double kernel_s = 0;
  // of matrix products, where known; else gemm_flops_per_s is all that there is
  TileRates tiles;
  // of attention that no fused kernel computes; 0: as the fused ones
  double plain_attention_flops_per_s = 0;
  // of trainx's kernels for heads of a multiple of 8 elements, up to 128; 0: as the library's
  double own_attention_flops_per_s = 0;
  double link_latency_s = 0;  // until a collective's first bytes are there; 0: not known
  // what the host takes to launch a kernel, where steps are launched one by one; 0: they are
  // replayed
  double host_kernel_s = 0;
  // twice this many rows of heads are computed at half more than the time of this many: fewer do
  // not fill the GPU
  double attention_fill_rows = 0;
  UpdateRates update;
  // of updates in the host's memory; 0: not known, and taken to be that of copies
  double host_update_bytes_per_s = 0;
  // of gathers that copies make (copied_gathers.hpp); 0: as collectives
  double link_copy_bytes_per_s = 0;
  FusedAttention heads_of_64, heads_of_128;
  // of trainx's kernels for Hopper; not known: as the library's
  FusedAttention hopper_heads_of_64 = {}, hopper_heads_of_128 = {};
  // of the network between hosts, for each rank, each way; 0: not known, or one host
  double network_bytes_per_s = 0;
  double network_latency_s = 0;     // of a collective that goes from host to host; 0: not known
  std::int64_t ranks_per_host = 0;  // where there are several hosts; 0: all
  // of products of experts (Gemm::of_experts) by portable kernels; 0: as other products
  double experts_flops_per_s = 0;
  // of those by kernels for Hopper (core/hopper_kernels.hpp); 0: as by portable ones
  double hopper_experts_flops_per_s = 0;
  // how many times as fast products of fp8 are as those of the same sizes in 16 bits
  double fp8_speedup = 1;
  double fp8_blocks_speedup = 1;  // the same with scales of vectors and blocks
  // what a cast to fp8 takes beyond its bytes
  double fp8_cast_s = 0;
  CollectiveRates collectives = {};
  bool operator==(const Rates&) const = default;
};

/// Whether the library's fused attention takes heads of this size, in bf16.
bool has_fused_attention(std::int64_t head);
/// What its kernels compute a head as: they are made for 64 and 128 elements.
std::int64_t fused_attention_head(std::int64_t head);

/// Of one of a graph's matrix products, without starting it.
struct ProductTime {
  double seconds = 0, lost_s = 0;
};  // lost_s: see TiledProduct
ProductTime product_time(const Gemm& g, DType operands, const Rates& rates);

/// Times of a program's products, each kind computed once: layers have products of the same sizes.
class ProductTimes {
 public:
  /// `rates` outlives this.
  explicit ProductTimes(const Rates& rates) : rates_(rates) {}
  ProductTime of(const Gemm& g, DType operands);
  const Rates& rates() const { return rates_; }

 private:
  struct Known {
    std::int64_t m, n, k, row_alignment;
    bool a_transposed, fp8, of_experts;
    ProductTime time;
  };
  const Rates& rates_;
  std::vector<Known> known_;  // few
};

/// Of a phase's attention, without starting it.
double attention_s(const Phase& phase, const Rates& rates);

/// What a collective moves of a rank's memory: each thing whole.
Bytes sent_bytes(const StepProgram& p, const Instruction& i);

/// Seconds of one instruction alone.
double duration_s(const Instruction& i, const StepProgram& p, const ModelGraph& graph,
                  const Rates& rates);
double duration_s(const Instruction& i, const StepProgram& p, const ModelGraph& graph,
                  ProductTimes& products);

struct TimePrediction {
  double step_s = 0;
  std::array<double, lane_count> busy_s{};
  double gemm_s = 0, attention_s = 0, memory_s = 0;  // of the compute lane
  double measured_s = 0;                             // ... of phases that were measured
  std::string bottleneck;                            // "compute: matrix products", "copy_in", ...
};
/// Walks launches (launch.hpp) of steady under the waits, each of which begins when all of the one
/// before it is done, until the step time is steady. What is computed beside a collective of the
/// library goes on at less than its speed (CollectiveRates).
TimePrediction predict_time(const StepProgram& p, const Order& order, const ModelGraph& graph,
                            const Rates& rates);

}  // namespace trainx::program
