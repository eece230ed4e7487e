#pragma once
#include "program/model_graph.hpp"
#include <cstdint>
#include <functional>
#include <vector>

namespace trainx::optim {

/// A part of one parameter tensor. Cut by size alone, so that what is computed does not depend on
/// the number of threads.
struct Chunk {
  std::int64_t begin = 0, elements = 0;  // from the start of the group
  bool decay = false;
};
constexpr std::int64_t chunk_elements = 16384;

/// The group's tensors in chunks, in order; the gaps between tensors are in none.
std::vector<Chunk> chunks_of(const program::GroupSpec& group);
/// Calls `use(index, chunk)` for every chunk, on LibTorch's threads.
void for_each_chunk(const std::vector<Chunk>& chunks,
                    const std::function<void(std::size_t, const Chunk&)>& use);

}  // namespace trainx::optim
