// Gradients as updates read them, whatever type they came in.
#pragma once
#include "optim/chunks.hpp"
#include "optim/optimizer.hpp"

namespace trainx::optim {

/// Exact. The loop over a chunk's weights and states then has one type of gradient to read, and what it reads is in the cache.
void widen_gradients(const std::uint16_t* from, float* to, std::int64_t n);

/// Those of the chunk in fp32: as they lie in memory, or widened into `room`, which holds chunk_elements.
inline const float* gradient_of(const GroupMemory& memory, const Chunk& chunk, float* room) {
  if (memory.gradient_dtype == DType::f32) return static_cast<const float*>(memory.gradient) + chunk.begin;
  widen_gradients(static_cast<const std::uint16_t*>(memory.gradient) + chunk.begin, room, chunk.elements);
  return room;
}

}  // namespace trainx::optim
