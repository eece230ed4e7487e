#include "operations/trained_tokens/trained_tokens.hpp"
#include "operations/common/dispatch.hpp"
#include "operations/trained_tokens/trained_tokens_backends.hpp"

namespace trainx::operations {

std::vector<std::int32_t> ids_within(std::span<const std::int32_t> ids, std::int64_t first,
                                     std::int64_t count) {
  std::vector<std::int32_t> own;
  own.reserve(ids.size());
  for (const std::int32_t id : ids)
    own.push_back(id >= first && id < first + count ? static_cast<std::int32_t>(id - first) : -1);
  return own;
}

void place_tokens(const Tensor& places, const Tensor& tokens, std::span<const std::int32_t> ids) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(places)) return cuda::place_tokens(*gpu, places, tokens, ids);
  return cpu::place_tokens(places, tokens, ids);
}

void replace_rows(const Tensor& y, const Tensor& base, const Tensor& rows, const Tensor& places,
                  double scale, const Tensor& table, const Tensor& tokens) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(y))
      return cuda::replace_rows(*gpu, y, base, rows, places, scale, table, tokens);
  return cpu::replace_rows(y, base, rows, places, scale, table, tokens);
}

void take_listed_columns(const Tensor& to, const Tensor& from, std::span<const std::int32_t> ids) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(to)) return cuda::take_listed_columns(*gpu, to, from, ids);
  return cpu::take_listed_columns(to, from, ids);
}

void put_listed_columns(const Tensor& to, const Tensor& from, std::span<const std::int32_t> ids) {
  if constexpr (has_cuda)
    if (const Gpu* gpu = gpu_of(to)) return cuda::put_listed_columns(*gpu, to, from, ids);
  return cpu::put_listed_columns(to, from, ids);
}

}  // namespace trainx::operations
