// What collectives of a library take and cost on GPUs, beside the rate of their links.
#pragma once

namespace trainx::program {

/// Of NCCL's collectives between GPUs of one host. They take multiprocessors, memory and power from
/// what is computed beside them.
struct CollectiveRates {
  // of the speed of sums that all ranks get, that of scatters and of gathers
  double scatter_share = 1, gather_share = 1;
  // of a computation's speed, what is lost beside a collective
  double slows = 0;
  // the same two of steps in shards whose gathers are copies: NCCL has more multiprocessors there,
  // and its sums are so many times as fast
  double more_speedup = 1, more_slows = 0;
  // of a computation's time, what the slower of the GPUs takes beyond one alone: all wait for it
  double slowest = 0;
  bool operator==(const CollectiveRates&) const = default;
};

}  // namespace trainx::program
