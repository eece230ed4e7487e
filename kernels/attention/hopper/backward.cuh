// Attention backward on Hopper, heads of 64 and 128. An item of work is 128 keys and values of a
// head: a block goes over the tiles of 64 queries that see them (Dao 2023, arXiv:2307.08691,
// algorithm 2), of one query head after the other where several share the keys. Its warp groups:
//   keys     two of 64 keys each: scores and their gradients with keys as rows, S^T = K Q^T and
//            dP^T = V dO^T, so that P^T and dS^T are left operands of dV += P^T dO and dK += dS^T Q
//            as they lie in registers
//   queries  with heads of 64: dQ^T = K^T dS^T, both from shared memory. With heads of 128 there
//            are no registers for a third group that computes; each group of keys takes half of
//            the columns of dQ = dS K, a step later, when the other group's dS is there too
//   service  a warp that copies queries and output gradients several tiles ahead, and warps that
//            send parts of query gradients away
// where P = exp(scale S - lse), dS = P (dP - delta), delta = dO . O; dQ and dK are scaled last.
//
// Sums of query gradients over blocks are made in one order: a counter per tile of queries tells
// whose turn it is, in the order in which items are taken, so that whoever waits waits for an item
// that is under way. Of a head under a causal mask the last keys come first: an item that is waited
// for is two tiles ahead. In the last heads the first keys do, which most queries see, of all these
// heads together: the last items are short, and the multiprocessors end at about the same time.
//
// Turns take two trips to the L2 cache and the sum a third, more time than all products of a tile:
// so parts go through shared memory, where a sending warp for each buffer waits for the turn, lets
// the copy engine store the part or add it, and passes the turn on. The last in turn gets the sum
// of the others into that buffer ahead of time and writes the result: nothing is zeroed and nothing
// converted afterwards.
#pragma once
#include <cstdint>
#include <type_traits>
#include "kernels/attention/hopper/backward_copies.cuh"
#include "kernels/attention/hopper/backward_keys.cuh"

namespace trainx::kernels::hopper {

/// The warp group that computes query gradients of heads of 64.
template <Seen Sees>
__device__ __forceinline__ void compute_query_gradients(const BackwardArguments& a,
                                                        std::uint32_t shared,
                                                        BackwardBarriers<64> barriers) {
  using Cut = BackwardCut<64>;
  const int lane = threadIdx.x % 32;
  Items<64, 32> items{shared, barriers};
  Ring<Cut::key_buffers> block;
  Ring<Cut::buffers> buffer;
  Ring<Cut::parts> part;
  while (true) {
    const int item = items.next(a.items);
    if (item >= a.items) return;
    const BackwardWork<Sees> work(a, item);
    const int all = work.all_steps(),
              alone = work.template first_step<64>(a, 1);  // steps of the first group of keys only
    const std::uint32_t keys = shared + block.stage * 2 * Cut::value_bytes;
    QueryTiles tiles(work);
    wait(barriers.block_copied(block.stage), block.parity, Waiting::block_copied);
    block.advance();
    for (int i = 0; i < all; ++i, buffer.advance(), tiles.advance(work)) {
      float sums[32];
#pragma unroll
      for (float& sum : sums) sum = 0;
      wait(barriers.d_score_written(buffer.stage), buffer.parity, Waiting::d_score_written);
      const auto multiply = [&](auto steps) {
        begin_products();
        columns_by_columns<decltype(steps)::value>(
            sums, keys, shared + Cut::d_score_at + buffer.stage * 2 * box_bytes, true);
        commit_products();
        wait_for_products<0>(sums);
      };
      if (i >= alone)
        multiply(std::integral_constant<int, 8>{});
      else
        multiply(std::integral_constant<int, 4>{});
      if (lane == 0) {
        arrive(barriers.d_score_free(buffer.stage));
        if (i + 1 == all) arrive(barriers.keys_read());
      }
      hand_over<64, true>(a, shared, barriers, part, sums, work, tiles.tile(work), 0, 1);
    }
  }
}

template <int Head, Seen Sees, bool Drops>
__global__ void __launch_bounds__(BackwardCut<Head>::threads, 1)
    backward_kernel(const __grid_constant__ BackwardArguments a) {
  using Cut = BackwardCut<Head>;
  constexpr int service = Cut::threads / 128 - 1;
  constexpr Registers registers = Drops ? Cut::registers_to_drop : Cut::registers;
  extern __shared__ unsigned char memory[];
  const std::uint32_t shared = (shared_address(memory) + atom_bytes - 1) / atom_bytes * atom_bytes;
  const BackwardBarriers<Head> barriers{shared + Cut::barriers_at};
  // the same for all threads of a warp, which the compiler cannot know
  const int warp = __shfl_sync(0xffffffff, threadIdx.x / 32, 0), group = warp / 4;
  if (threadIdx.x == 0) {
    for (int i = 0; i < Cut::key_buffers; ++i) {
      init_barrier(barriers.block_copied(i), 1);
      init_barrier(barriers.keys_free(i), 2);  // a group of keys each
    }
    init_barrier(barriers.keys_read(), 4);  // a warp each
    for (int i = 0; i < 2; ++i) {
      init_barrier(barriers.item_given(i), 1);
      init_barrier(barriers.item_free(i), Cut::parts + (Cut::query_group ? 12 : 8));
    }
    for (int i = 0; i < Cut::stages; ++i) {
      init_barrier(barriers.query_copied(i), 1);
      init_barrier(barriers.d_out_copied(i), 1);
      init_barrier(barriers.query_free(i), 8);
      init_barrier(barriers.d_out_free(i), 8);
    }
    for (int i = 0; i < Cut::buffers; ++i) {
      init_barrier(barriers.d_score_written(i), 8);
      init_barrier(barriers.d_score_free(i), Cut::query_group ? 4 : 8);
    }
    for (int i = 0; i < Cut::parts; ++i) {
      init_barrier(barriers.part_ready(i), 1);
      init_barrier(barriers.part_written(i), Cut::query_group ? 4 : 8);
    }
    publish_barriers();
  }
  __syncthreads();
  if (group == service) {
    give_registers<registers.service>();
    const int role = warp - 4 * service;
    if (threadIdx.x % 32 == 0) {
      if (role == 0)
        copy_tiles<Head, Sees, Drops>(a, shared, barriers);
      else if (role <= Cut::parts)
        send_parts<Head, Sees>(a, shared, barriers, role - 1);
    }
  } else if (Cut::query_group && group == 2) {
    if constexpr (Cut::query_group) {
      give_registers<registers.queries>();
      compute_query_gradients<Sees>(a, shared, barriers);
    }
  } else {
    take_registers<registers.keys>();
    KeyRings<Head> rings;
    if constexpr (Cut::takes_items) {
      Items<Head, 32> items{shared, barriers};
      for (int item; (item = items.next(a.items)) < a.items;)
        compute_keys<Sees, Drops>(a, item, shared, barriers, group, rings, items.heard - 1);
    } else {
      compute_keys<Sees, Drops>(a, static_cast<int>(blockIdx.x), shared, barriers, group, rings, 0);
    }
  }
}

}  // namespace trainx::kernels::hopper
