// A product and products of few columns that are added to it, for Hopper GPUs (compute capability
// 9.0): a layer with its adapters in one kernel, which reads and writes the result once.
#pragma once
#include "kernels/bits.hpp"
#include <cuda_runtime_api.h>
#include <cstdint>

namespace trainx::kernels::hopper {

/// A_p[N, depth] B_p, of columns [first, first + width) of the result. B_p lies as `right` does:
/// [width, depth], or [depth, width] with rows of `width` elements.
template <class T>
struct AddedProduct {
  const T* left = nullptr;
  std::int64_t left_stride = 0;  // elements from one row to the next
  const T* right = nullptr;
  std::int64_t depth = 0, first = 0, width = 0;
};

constexpr int most_added_products = 4;

/// result[N, columns] = left[N, depth] B + bias[columns] + the added products, of sums in fp32 that
/// are rounded once. B: `right`[columns, depth] along the sum, else [depth, columns].
template <class T>
struct SummedProducts {
  std::int64_t rows = 0, columns = 0, depth = 0;
  const T* left = nullptr;
  const T* right = nullptr;
  bool right_along_sum = true;
  const T* bias = nullptr;  // null: none is added
  T* result = nullptr;
  AddedProduct<T> added[most_added_products] = {};
  int added_count = 0;
};

/// Asynchronous on `stream`; one launch, whose status is returned. T: Bf16 or Fp16. Sums are made
/// in an order of their own: repeats are bit-equal. Pointers are aligned to 16 bytes; columns,
/// depths and strides are multiples of 8, and so are `first` and `width`. Without `right_along_sum`
/// an added product reaches all columns. cudaErrorNotSupported where something else is asked, and
/// on other GPUs.
template <class T>
cudaError_t summed_products(const SummedProducts<T>& op, cudaStream_t stream);

}  // namespace trainx::kernels::hopper
