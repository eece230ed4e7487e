// Who may go on when: barriers in shared memory that count arrivals and copied bytes (mbarrier),
// named barriers of some warps of a block, and counters in device memory for blocks (PTX ISA,
// "mbarrier", "barrier", "Memory Consistency Model").
#pragma once
#include <cuda_runtime_api.h>
#include <cstdint>

namespace trainx::kernels::hopper {

// What a wait is for; reported when it takes too long.
enum class Waiting : std::uint32_t {
  query = 1,        // forward: tile of queries copied
  key_copied,       // forward: tile of keys copied
  value_copied,     // forward: tile of values copied
  key_free,         // forward: tile of keys no longer read
  value_free,       // forward: tile of values no longer read
  block_copied,     // backward: keys and values of the block copied
  query_copied,     // backward: tile of queries and row statistics copied
  d_out_copied,     // backward: tile of output gradients copied
  query_free,       // backward: tile of queries no longer read
  d_out_free,       // backward: tile of output gradients no longer read
  d_score_written,  // backward: score gradients in shared memory
  d_score_free,     // backward: score gradients no longer read
  keys_read,        // backward: keys no longer read for query gradients
  turn,             // backward: turn of this block to add to a query gradient
  part_ready,       // backward: room for a part of a query gradient, or the sum of those before it
  part_written,     // backward: part of a query gradient in shared memory
  item_given,       // backward: next work of the block known
  item_free,        // backward: work of the block known to all
  keys_free,        // backward: keys and values of the block no longer needed
  operands_copied,  // experts: stage of both operands copied
  operands_free,    // experts: stage no longer read
  tile_given,       // experts: next tile of the block known
  tile_read,        // experts: place of the next tile free
  sums_written,     // linear: sums of a group in shared memory
  sums_finished,    // linear: sums of a group read
};

#ifdef TRAINX_CHECK_WAITS
// Mapped host memory, which the host can read while the kernel runs.
__device__ std::uint32_t* wait_report;

// Tries before a wait is given up: at least 20 ms, and up to seconds where a try itself waits. The
// kernel goes on with wrong results: a trap here would make the compiler run products one by one.
constexpr int most_tries = 1 << 20;

__device__ __forceinline__ bool gives_up(int tries, Waiting what, std::uint32_t value) {
  if (tries < most_tries) return false;
  volatile std::uint32_t* const report = wait_report;
  if (report && report[0] == 0) {
    report[1] = blockIdx.x, report[2] = threadIdx.x, report[3] = value;
    report[0] = static_cast<std::uint32_t>(what);
  }
  return true;
}
#endif

__device__ __forceinline__ std::uint32_t shared_address(const void* shared) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(shared));
}

/// Barriers are addressed as shared memory is, by 32 bits. One thread initialises them; all threads
/// of the block wait for each other before they use them.
__device__ __forceinline__ void init_barrier(std::uint32_t barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}
/// Makes initialised barriers known to the copy engine.
__device__ __forceinline__ void publish_barriers() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  asm volatile("fence.proxy.async;" ::: "memory");
}
__device__ __forceinline__ void arrive(std::uint32_t barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
/// Arrives, and lets the phase end only after so many bytes were copied too.
__device__ __forceinline__ void arrive_expecting(std::uint32_t barrier, std::uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
}
__device__ __forceinline__ bool has_passed(std::uint32_t barrier, std::uint32_t parity) {
  std::uint32_t done;
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
      "selp.u32 %0, 1, 0, p;\n"
      "}"
      : "=r"(done)
      : "r"(barrier), "r"(parity)
      : "memory");
  return done != 0;
}
/// Waits for the end of the phase of this parity: 0 for the first one. A fresh barrier counts as
/// past a phase of parity 1.
__device__ __forceinline__ void wait(std::uint32_t barrier, std::uint32_t parity,
                                     [[maybe_unused]] Waiting what) {
  if (has_passed(barrier, parity)) return;
#ifdef TRAINX_CHECK_WAITS
  for (int tries = 0; !has_passed(barrier, parity); ++tries)
    if (gives_up(tries, what, parity)) break;
#else
  while (!has_passed(barrier, parity)) {}
#endif
}

/// Place in a ring of `Stages` tiles, and the parity of the phase in which they are used.
template <int Stages>
struct Ring {
  int stage = 0;
  std::uint32_t parity = 0;
  __device__ __forceinline__ void advance() {
    if (++stage == Stages) stage = 0, parity ^= 1;
  }
};

/// Named barriers, 1 to 15; 0 is __syncthreads().
__device__ __forceinline__ void sync_threads(int barrier, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}
__device__ __forceinline__ void arrive_threads(int barrier, int threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

/// What this thread stored in shared memory becomes visible to the copy engine and to products.
__device__ __forceinline__ void show_to_async_readers() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/// Between copies of device memory by the copy engine and what other blocks are shown or show.
__device__ __forceinline__ void order_copies() {
  asm volatile("fence.proxy.async.global;" ::: "memory");
}

/// Waits until a counter in device memory has this value; sees what was stored before it was set.
__device__ __forceinline__ void wait_for_turn(const int* counter, int value) {
  const auto now = [&] {
    int found;
    asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(found) : "l"(counter) : "memory");
    return found;
  };
#ifdef TRAINX_CHECK_WAITS
  for (int tries = 0; now() != value; ++tries)
    if (gives_up(tries, Waiting::turn, static_cast<std::uint32_t>(value))) break;
#else
  while (now() != value) {}
#endif
}
/// Shows what this thread stored, and others before they waited for it.
__device__ __forceinline__ void give_turn(int* counter, int value) {
  asm volatile("st.release.gpu.global.s32 [%0], %1;" ::"l"(counter), "r"(value) : "memory");
}

/// Registers of a thread of this warp group from here on; a multiple of 8. All warps of the group.
template <int Registers>
__device__ __forceinline__ void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(Registers));
}
template <int Registers>
__device__ __forceinline__ void give_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(Registers));
}

}  // namespace trainx::kernels::hopper
