#pragma once
#include "kernels/bits.hpp"
#include <cstdint>
#if __has_include(<cuda_runtime_api.h>)
#include <cuda_runtime_api.h>
#endif

namespace trainx::kernels {

/// gather: to[r] = from[rows[r]]; scatter: to[rows[r]] = from[r], where rows of `to` that are not
/// named stay as they are. Rows of C elements; a negative row is skipped by scatter and reads as
/// zeros in gather, so that lists may be longer than their number of rows. No row may be named
/// twice in scatter.
template <class T>
struct CopyRows {
  std::int64_t count = 0, columns = 0;  // rows that are copied; C
  const std::int64_t* rows = nullptr;   // [count]
  const T* from = nullptr;
  T* to = nullptr;  // does not overlap `from`
};

void gather_rows_reference(const CopyRows<float>& op);
void gather_rows_reference(const CopyRows<Bf16>& op);
void gather_rows_reference(const CopyRows<Fp16>& op);
void scatter_rows_reference(const CopyRows<float>& op);
void scatter_rows_reference(const CopyRows<Bf16>& op);
void scatter_rows_reference(const CopyRows<Fp16>& op);

/// The rows that have a target, in order: rows[i] and row_targets[i] for i below the number found;
/// from there to `capacity` -1 and no_target. What goes beyond capacity is left out, and `found`
/// says how many there were. Memory of the device; for the reference, of the host.
struct SelectTargets {
  std::int64_t count = 0, capacity = 0;
  const std::int32_t* targets = nullptr;  // [count]
  std::int64_t* rows = nullptr;           // [capacity]
  std::int32_t* row_targets = nullptr;    // [capacity]
  std::int64_t* found = nullptr;          // null: not wanted
};
void select_targets_reference(const SelectTargets& op);

/// rows[b] = b * length: the first row of each sample.
void first_rows_reference(std::int64_t* rows, std::int64_t samples, std::int64_t length);

#if __has_include(<cuda_runtime_api.h>)
/// Asynchronous on `stream`; each is one launch, whose status is returned. Pointers need their
/// element's alignment; 16 bytes, with C a multiple of 8, are faster.
cudaError_t gather_rows(const CopyRows<float>& op, cudaStream_t stream);
cudaError_t gather_rows(const CopyRows<Bf16>& op, cudaStream_t stream);
cudaError_t gather_rows(const CopyRows<Fp16>& op, cudaStream_t stream);
cudaError_t scatter_rows(const CopyRows<float>& op, cudaStream_t stream);
cudaError_t scatter_rows(const CopyRows<Bf16>& op, cudaStream_t stream);
cudaError_t scatter_rows(const CopyRows<Fp16>& op, cudaStream_t stream);
cudaError_t select_targets(const SelectTargets& op, cudaStream_t stream);
cudaError_t first_rows(std::int64_t* rows, std::int64_t samples, std::int64_t length,
                       cudaStream_t stream);
#endif

}  // namespace trainx::kernels
