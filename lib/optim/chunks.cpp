#include "optim/chunks.hpp"
#include "tensor/parallel.hpp"
#include <algorithm>

namespace trainx::optim {

std::vector<Chunk> chunks_of(const program::GroupSpec& group) {
  std::vector<Chunk> chunks;
  for (const program::ParameterSpec& p : group.parameters) {
    std::int64_t elements = 1;
    for (const std::int64_t d : p.dims) elements *= d;
    for (std::int64_t at = 0; at < elements; at += chunk_elements)
      chunks.push_back({p.offset + at, std::min(chunk_elements, elements - at), p.decay});
  }
  return chunks;
}

void for_each_chunk(const std::vector<Chunk>& chunks,
                    const std::function<void(std::size_t, const Chunk&)>& use) {
  std::int64_t elements = 0;
  for (const Chunk& chunk : chunks) elements += chunk.elements;
  const auto count = static_cast<std::int64_t>(chunks.size());
  // waking a thread takes longer than a little work
  const std::int64_t grain = elements < 2 * chunk_elements ? count : 1;
  tensor::parallel_for(
      0, count, std::max<std::int64_t>(1, grain), [&](std::int64_t begin, std::int64_t end) {
        for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i)
          use(i, chunks[i]);
      });
}

}  // namespace trainx::optim
