// How much of a row of logits a block of the loss keeps in shared memory.
#pragma once
#include "kernels/shared_memory.hpp"
#include <algorithm>
#include <cstdint>

namespace trainx::kernels {

/// Bytes for a row, of a block's `shared_bytes`: the rest is for static variables. Two blocks of a
/// multiprocessor have half of it each.
constexpr int room_for_rows(int shared_bytes) { return shared_bytes - 3 * 1024; }

/// Chunks of 16 bytes for each of `threads` threads.
constexpr std::int64_t chunks_per_thread(std::int64_t classes, int element_bytes, int threads) {
  const int elements = 16 / element_bytes;
  return ((classes + elements - 1) / elements + threads - 1) / threads;
}

/// Threads of a block for rows of so many classes: of two blocks where each keeps a whole row.
constexpr int threads_of_row(std::int64_t classes, int element_bytes, int room) {
  if (classes * element_bytes <= 8192) return 128;
  return chunks_per_thread(classes, element_bytes, 512) * 512 * 16 <= room / 2 ? 512 : 1024;
}

/// Of a thread's chunks, those that it keeps; the rest it reads twice.
constexpr int held_chunks(int per_thread, int threads, int room) {
  return std::min(per_thread, room / (threads * 16));
}

}  // namespace trainx::kernels
