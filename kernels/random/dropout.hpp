#pragma once
#include "kernels/bits.hpp"
#include <cstdint>
#if __has_include(<cuda_runtime_api.h>)
#include <cuda_runtime_api.h>
#endif

namespace trainx::kernels {

/// Names the random numbers of one dropout: those of an element follow from seed, block and site of
/// the model, the position of its sample in the endless stream of samples, and its place in the
/// sample. They are the same for any cut of the batch, and for forward, recomputation and backward.
struct DropoutKey {
  double probability = 0;  // in [0, 1)
  std::uint64_t seed = 0;
  std::uint32_t block = 0, site = 0;  // site below 256
};

/// The rows of one launch: rows [first_row, first_row + rows) of a micro-batch of samples of
/// `length` rows of `columns` elements.
struct DropoutRows {
  // [micro-batch] of the samples; device memory (the reference: host memory)
  const std::int64_t* positions = nullptr;
  std::int64_t length = 1, columns = 0, first_row = 0, rows = 0;
  // The columns are those from `first_column` on of rows of so many; 0: they are all.
  std::int64_t first_column = 0, all_columns = 0;
};

/// out[rows, columns] = in * factor, factor 0 or 1 / (1 - probability), rounded once. out may be
/// in. Also the backward: gradients in, gradients out. Philox counter: {element of the sample / 4,
/// block << 8 | site, position low, position high}, key: seed; word j belongs to the j-th of the
/// four elements, which is dropped where the word is below probability * 2^32. Pointers need their
/// element's alignment; that of four elements is faster.
void dropout_reference(float* out, const float* in, const DropoutRows& rows, const DropoutKey& key);
void dropout_reference(Bf16* out, const Bf16* in, const DropoutRows& rows, const DropoutKey& key);
void dropout_reference(Fp16* out, const Fp16* in, const DropoutRows& rows, const DropoutKey& key);
#if __has_include(<cuda_runtime_api.h>)
/// Asynchronous on `stream`; returns the status of the launch.
cudaError_t dropout(float* out, const float* in, const DropoutRows& rows, const DropoutKey& key,
                    cudaStream_t stream);
cudaError_t dropout(Bf16* out, const Bf16* in, const DropoutRows& rows, const DropoutKey& key,
                    cudaStream_t stream);
cudaError_t dropout(Fp16* out, const Fp16* in, const DropoutRows& rows, const DropoutKey& key,
                    cudaStream_t stream);
#endif

}  // namespace trainx::kernels
