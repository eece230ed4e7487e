// Columns of rows of another width.
#pragma once
#include "kernels/bits.hpp"
#include <cstdint>
#include <cuda_runtime_api.h>

namespace trainx::kernels {

/// Heads of `width` elements from column `first` on, of rows of `pitch`.
template <class T>
struct HeadColumns {
  T* at = nullptr;
  std::int64_t pitch = 0, first = 0, width = 0;
};

/// Copies heads; wider ones get zeros behind them, narrower ones lose their last elements. T:
/// float, Bf16 or Fp16. Asynchronous on `stream`; one launch, whose status is returned.
template <class T>
cudaError_t copy_heads(const HeadColumns<T>& to, const HeadColumns<const T>& from,
                       std::int64_t rows, std::int64_t heads, cudaStream_t stream);

/// The same with +=, in fp32 and rounded once, for heads of one width.
template <class T>
cudaError_t add_heads(const HeadColumns<T>& to, const HeadColumns<const T>& from, std::int64_t rows,
                      std::int64_t heads, cudaStream_t stream);

/// to[N, C] = addend[N, C] (null: 0; may be `to`) + `from` in its columns [first, first + n). T and
/// launch as above; fp32 in arithmetic, rounded once.
template <class T>
struct PutColumns {
  std::int64_t rows = 0, columns = 0, first = 0, count = 0;  // N, C, first, n
  const T* from = nullptr;                                   // [N, n]
  const T* addend = nullptr;
  T* to = nullptr;
};
template <class T>
cudaError_t put_columns(const PutColumns<T>& op, cudaStream_t stream);

}  // namespace trainx::kernels
