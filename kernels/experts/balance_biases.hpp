#pragma once
#include "kernels/cuda_types.hpp"
#include <cstdint>

namespace trainx::kernels {

/// Biases of one router's choice move by `rate`: up where their expert has less than the mean load
/// of the layer, down where it has more (Wang et al. 2024, arXiv:2408.15664). Where *norm2 is not
/// finite they stay.
struct BalanceBiases {
  int experts = 1;                // of the layer
  const double* loads = nullptr;  // [experts]: whole numbers
  const double* norm2 = nullptr;
  double rate = 0;
  int first = 0, count = 0;  // of the layer's experts: those whose biases these are
  float* biases = nullptr;   // [count]
};

void balance_biases_reference(const BalanceBiases& op);
#if __has_include(<cuda_runtime_api.h>)
/// One block, asynchronous on `stream`; returns the status of the launch. The same bits as the
/// reference.
cudaError_t balance_biases(const BalanceBiases& op, cudaStream_t stream);
#endif

}  // namespace trainx::kernels
