// The work list of kernels that go over many ranges in one launch.
#pragma once
#include <cstdint>
#include <vector>

namespace trainx::kernels {

/// Elements that a thread block works on at a time. What a chunk's result is does not depend on how
/// many blocks there are.
constexpr std::int64_t chunk_elements = 4096;

struct Chunk {
  std::int32_t range = 0;  // index into the table of ranges
  std::int32_t index = 0;  // elements [index, index + 1) * chunk_elements of it
};

/// All chunks of ranges with these numbers of elements, in order.
inline std::vector<Chunk> chunks_of(const std::vector<std::int64_t>& elements) {
  std::vector<Chunk> chunks;
  for (std::size_t r = 0; r < elements.size(); ++r)
    for (std::int64_t at = 0; at < elements[r]; at += chunk_elements)
      chunks.push_back(
          {static_cast<std::int32_t>(r), static_cast<std::int32_t>(at / chunk_elements)});
  return chunks;
}

/// Where the chunks of each of `ranges` ranges begin, and the end of all.
inline std::vector<std::int64_t> first_chunks(const std::vector<Chunk>& chunks,
                                              std::size_t ranges) {
  std::vector<std::int64_t> first(ranges + 1);
  for (const Chunk& c : chunks) ++first[static_cast<std::size_t>(c.range) + 1];
  for (std::size_t r = 0; r < ranges; ++r) first[r + 1] += first[r];
  return first;
}

}  // namespace trainx::kernels
