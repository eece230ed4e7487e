#pragma once
#include "kernels/bits.hpp"
#include "kernels/cuda_types.hpp"
#include <cstdint>

namespace trainx::kernels {

/// Items sorted by expert, stably: places[i] is the row of item i, offsets[e] the first row of
/// expert e. Items whose index is below 0 have no row: -1.
///
/// With a capacity an expert has at most so many rows, its first ones; further items have none.
/// Rows are without gaps; in slots, rows of expert e begin at e * capacity, and offsets are those
/// without gaps all the same.
struct ExpertSort {
  std::int64_t items = 0;                 // N * k, below 2^31
  std::int64_t experts = 0;               // E, at most most_sorted_experts
  const std::int32_t* indices = nullptr;  // [N * k], each below E
  std::int32_t* places = nullptr;         // [N * k]; null: not wanted; may be the indices
  std::int32_t* offsets = nullptr;        // [E + 1]; null: not wanted
  std::int64_t capacity = 0;              // 0: any number of rows
  bool in_slots = false;                  // with a capacity
};
constexpr std::int64_t most_sorted_experts = 1024;

/// rows[N * k, H]: row places[n, j] is x[n], where that is not below 0.
template <class T>
struct DispatchRows {
  std::int64_t tokens = 0, per_token = 1, columns = 0;  // N, k, H
  const std::int32_t* places = nullptr;
  const T* x = nullptr;
  T* rows = nullptr;
};
/// dx[n] = addend[n] + the sum over j of d_rows[places[n, j]], in fp32, in the order of j. The
/// addend may be null, or dx. `sparse`: places below 0 have no row, and add nothing.
template <class T>
struct DispatchRowsBackward {
  std::int64_t tokens = 0, per_token = 1, columns = 0;
  const std::int32_t* places = nullptr;
  const T* d_rows = nullptr;
  const T* addend = nullptr;
  T* dx = nullptr;
  bool sparse = false;
};

void expert_sort_reference(const ExpertSort& op);
template <class T>
void dispatch_rows_reference(const DispatchRows<T>& op);
template <class T>
void dispatch_rows_backward_reference(const DispatchRowsBackward<T>& op);
/// Of `counts`, which may hold anything.
std::int64_t expert_sort_scratch_bytes(std::int64_t experts);
#if __has_include(<cuda_runtime_api.h>)
/// Asynchronous on `stream`; the status of the launches, whose sizes do not depend on the indices.
/// T: float, Bf16 or Fp16. Pointers need their element's alignment; 16 bytes, with H a multiple of
/// 8, are faster.
cudaError_t expert_sort(const ExpertSort& op, std::int32_t* counts, cudaStream_t stream);
template <class T>
cudaError_t dispatch_rows(const DispatchRows<T>& op, cudaStream_t stream);
template <class T>
cudaError_t dispatch_rows_backward(const DispatchRowsBackward<T>& op, cudaStream_t stream);
#endif

}  // namespace trainx::kernels
