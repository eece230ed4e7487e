#pragma once
#include "kernels/bits.hpp"
#include "kernels/cuda_types.hpp"
#include <cstdint>

namespace trainx::kernels {

enum class InitialLaw : std::uint8_t { constant, normal, uniform };

/// What elements [first, first + elements) of a tensor begin as. An element's value follows from
/// the law, the key and its place in the tensor alone, so that parts of any size give the same
/// tensor.
struct InitialValues {
  InitialLaw law = InitialLaw::constant;
  // constant: the value; normal: the standard deviation; uniform: the bound b of (-b, b)
  double scale = 0;
  std::uint64_t key = 0;  // of Philox; the counter is element / 4
  std::int64_t first = 0, elements = 0;
  // Elements of the tensor that are zero whatever the law: from `end` on (rows that pad a
  // vocabulary), and [zero_begin, zero_end) (the row of a padding token).
  std::int64_t end = INT64_MAX, zero_begin = 0, zero_end = 0;
};

/// Where the elements are written, [elements] each; those that are null are not written.
struct InitialPlaces {
  float* exact = nullptr;
  float* average = nullptr;      // a second copy, which an average of weights begins as
  Bf16* bf16 = nullptr;          // nearest_weight
  std::uint16_t* low = nullptr;  // low_bits
  Fp16* fp16 = nullptr;          // nearest, ties to even
  /// The same from an element on.
  TRAINX_HOST_DEVICE InitialPlaces from(std::int64_t element) const {
    return {exact ? exact + element : nullptr, average ? average + element : nullptr,
            bf16 ? bf16 + element : nullptr, low ? low + element : nullptr,
            fp16 ? fp16 + element : nullptr};
  }
};

/// Writes the values to memory of the host.
void initial_values_reference(const InitialPlaces& to, const InitialValues& values);
/// The same bits on a GPU: `to` is device memory, or pinned memory of the host. Asynchronous on
/// `stream`; returns the status of the launch.
cudaError_t initial_values(const InitialPlaces& to, const InitialValues& values,
                           cudaStream_t stream);

}  // namespace trainx::kernels
