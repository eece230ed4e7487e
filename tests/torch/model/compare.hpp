// What references of all architectures are written with.
#pragma once
#include <ATen/core/Tensor.h>
#include <cstdint>

namespace trainx::model::test {

/// Dropout factors of [B, T, C], fp64, straight from the definition.
at::Tensor reference_dropout(double probability, std::uint64_t seed, std::uint32_t block,
                             const at::Tensor& positions, std::int64_t length, std::int64_t columns,
                             std::uint32_t site = 0);

/// Largest |a - b| over largest |b|; infinite where a NaN is.
double relative_error(const at::Tensor& a, const at::Tensor& b);

}  // namespace trainx::model::test
