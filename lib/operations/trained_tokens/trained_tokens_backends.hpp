// Backends of these operations, for tensors of the host and of a GPU. The dispatchers choose by
// Tensor::place.
#pragma once
#include "operations/trained_tokens/trained_tokens.hpp"

namespace trainx::operations {

struct Gpu;  // operations/common/gpu.hpp

namespace cpu {
void place_tokens(const Tensor& places, const Tensor& tokens, std::span<const std::int32_t> ids);
void replace_rows(const Tensor& y, const Tensor& base, const Tensor& rows, const Tensor& places,
                  double scale, const Tensor& table, const Tensor& tokens);
void take_listed_columns(const Tensor& to, const Tensor& from, std::span<const std::int32_t> ids);
void put_listed_columns(const Tensor& to, const Tensor& from, std::span<const std::int32_t> ids);
}  // namespace cpu

namespace cuda {
void place_tokens(const Gpu& gpu, const Tensor& places, const Tensor& tokens,
                  std::span<const std::int32_t> ids);
void replace_rows(const Gpu& gpu, const Tensor& y, const Tensor& base, const Tensor& rows,
                  const Tensor& places, double scale, const Tensor& table, const Tensor& tokens);
void take_listed_columns(const Gpu& gpu, const Tensor& to, const Tensor& from,
                         std::span<const std::int32_t> ids);
void put_listed_columns(const Gpu& gpu, const Tensor& to, const Tensor& from,
                        std::span<const std::int32_t> ids);
}  // namespace cuda

}  // namespace trainx::operations
