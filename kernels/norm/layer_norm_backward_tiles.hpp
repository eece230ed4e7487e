// How many rows, warps and stages a block of a norm's backward has: by width, size of an element
// and the shared memory of the device.
#pragma once
#include "kernels/shared_memory.hpp"
#include <cstdint>

namespace trainx::kernels {

/// Rows lie in `group` of a block's `warps` warps each, `vectors` pieces of eight columns a thread
/// (RowGroup). `stages` rows ahead are in shared memory; 0: none, rows are read element by element.
/// Of the three vectors of sums a block folds `folded` at a time in shared memory; 0: it has one
/// row, whose sums need no folding.
template <int vectors_, int group_, int warps_, int stages_, int folded_ = 3>
struct NormTiles {
  static constexpr int vectors = vectors_, group = group_, warps = warps_, stages = stages_,
                       folded = folded_, rows = warps / group, columns = 8 * 32 * group * vectors;
  static_assert(folded > 0 || rows == 1);

  static constexpr int shared_bytes(int element_bytes) {
    constexpr int operands = 3, fold = folded * rows * columns * 4;
    const int staged = stages * operands * vectors * 8 * element_bytes * 32 * warps;
    return fold > staged ? fold : staged;
  }
};

/// Of a block's shared memory, for its static variables.
constexpr int norm_static_bytes = 1024;

/// visit(the first of these tiles that have room in a block's `shared_bytes`). The last always
/// have.
template <int ElementBytes, class First, class... Others, class Visit>
auto first_norm_tiles(int shared_bytes, Visit visit) {
  constexpr int bytes = First::shared_bytes(ElementBytes) + norm_static_bytes;
  if constexpr (bytes <= least_shared_bytes) {
    return visit(First{});
  } else {
    static_assert(sizeof...(Others) > 0, "these tiles have no room on some GPUs");
    return bytes <= shared_bytes ? visit(First{})
                                 : first_norm_tiles<ElementBytes, Others...>(shared_bytes, visit);
  }
}

/// visit(NormTiles<...>{}) for rows of so many columns, at most 32768. `Rms`: of an RMSNorm alone,
/// whose threads have fewer sums, and room for more warps. `aligned`: rows may be copied by 16
/// bytes. There are fewer warps where a thread needs more registers: in fp32, and with four pieces
/// of a row.
template <int ElementBytes, bool Rms, class Visit>
auto with_norm_tiles(std::int64_t columns, bool aligned, int shared_bytes, Visit visit) {
  constexpr int E = ElementBytes;
  constexpr bool low = E == 2;
  if (!aligned || columns > 8192) {
    if (columns <= 1024) return first_norm_tiles<E, NormTiles<4, 1, 8, 0>>(shared_bytes, visit);
    if (columns <= 8192) return first_norm_tiles<E, NormTiles<4, 8, 8, 0>>(shared_bytes, visit);
    return first_norm_tiles<E, NormTiles<4, 32, 32, 0, 1>, NormTiles<4, 32, 32, 0, 0>>(shared_bytes,
                                                                                       visit);
  }
  if constexpr (low && Rms) {
    if (columns > 768 && columns <= 1024)
      return first_norm_tiles<E, NormTiles<4, 1, 16, 2>, NormTiles<4, 1, 8, 2>>(shared_bytes,
                                                                                visit);
    if (columns > 1024 && columns <= 1536)
      return first_norm_tiles<E, NormTiles<2, 3, 15, 4>, NormTiles<3, 2, 8, 2>>(shared_bytes,
                                                                                visit);
    if (columns > 1536 && columns <= 2048)
      return first_norm_tiles<E, NormTiles<2, 4, 16, 3>, NormTiles<4, 2, 8, 2>>(shared_bytes,
                                                                                visit);
  }
  constexpr int warps = low ? 12 : 8, three = low ? 3 : 2, four = low ? 4 : 2, few = low ? 2 : 1;
  if (columns <= 512)
    return first_norm_tiles<E, NormTiles<2, 1, warps, 3>, NormTiles<2, 1, warps, 2>>(shared_bytes,
                                                                                     visit);
  if (columns <= 768)
    return first_norm_tiles<E, NormTiles<3, 1, warps, three>, NormTiles<3, 1, 8, few>>(shared_bytes,
                                                                                       visit);
  if (columns <= 1024)
    return first_norm_tiles<E, NormTiles<4, 1, 8, four>, NormTiles<4, 1, 8, few>>(shared_bytes,
                                                                                  visit);
  if constexpr (low && !Rms) {
    if (columns <= 1280)
      return first_norm_tiles<E, NormTiles<1, 5, 15, 5>, NormTiles<3, 2, 8, few>>(shared_bytes,
                                                                                  visit);
    if (columns > 1536 && columns <= 2048)
      return first_norm_tiles<E, NormTiles<4, 2, 8, 3>, NormTiles<4, 2, 8, few>>(shared_bytes,
                                                                                 visit);
  }
  if (columns <= 1536)
    return first_norm_tiles<E, NormTiles<3, 2, warps, three>, NormTiles<3, 2, 8, few>>(shared_bytes,
                                                                                       visit);
  if (columns <= 2048)
    return first_norm_tiles<E, NormTiles<4, 2, 8, four>, NormTiles<4, 2, 8, few>>(shared_bytes,
                                                                                  visit);
  if (columns <= 4096)
    return first_norm_tiles<E, NormTiles<4, 4, 8, four>, NormTiles<4, 4, 8, few>>(shared_bytes,
                                                                                  visit);
  return first_norm_tiles<E, NormTiles<4, 8, 8, four>, NormTiles<4, 8, 8, few>>(shared_bytes,
                                                                                visit);
}

}  // namespace trainx::kernels
