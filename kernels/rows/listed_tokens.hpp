// Tokens of a short list, by whose ids rows and columns are chosen. Lists are read from the host
// when a function is called and go to the device with its launches, of which a longer list takes
// several.
#pragma once
#include "kernels/host_device.hpp"
#include "kernels/bits.hpp"
#include <cstdint>
#if __has_include(<cuda_runtime_api.h>)
#include <cuda_runtime_api.h>
#endif

namespace trainx::kernels {

/// places[n] = k where tokens[n] = ids[k], else `count`. No id is there twice, unless it is -1,
/// which no token is.
struct PlaceTokens {
  std::int64_t rows = 0;                 // N
  const std::int32_t* tokens = nullptr;  // [N]
  std::int32_t* places = nullptr;        // [N]
  std::int32_t count = 0;
  const std::int32_t* ids = nullptr;  // [count], of the host
};

/// y[N, C] = base[N, C], except where places[n] < others: scale * rows[places[n], C], or with
/// `table` base + scale * (that row - table[tokens[n], C]). In fp32, rounded once; y may be base.
template <class T>
struct ReplaceRows {
  std::int64_t count = 0, columns = 0;  // N, C
  const std::int32_t* places = nullptr;
  std::int32_t others = 0;
  const T* base = nullptr;
  const T* rows = nullptr;
  const T* table = nullptr;              // null: rows are not part of a sum
  const std::int32_t* tokens = nullptr;  // with `table`
  float scale = 1;
  T* y = nullptr;
};

/// narrow[N, count] and columns `ids` of wide[N, C]: one is copied to the other. An id of -1 is no
/// column: zeros are copied from it, and nothing to it.
template <class T>
struct ListedColumns {
  std::int64_t rows = 0, columns = 0;  // N, C
  std::int32_t count = 0;
  const std::int32_t* ids = nullptr;  // [count], of the host
  T* wide = nullptr;
  T* narrow = nullptr;
};

/// An element of a replaced row.
template <class T>
TRAINX_HOST_DEVICE float replaced(const ReplaceRows<T>& op, std::int64_t row, std::int64_t column) {
  const std::int64_t C = op.columns, place = op.places[row];
  const float x = widened(op.rows[place * C + column]);
  if (!op.table) return product(op.scale, x);
  const std::int64_t token = op.tokens[row];
  return sum(widened(op.base[row * C + column]),
             product(op.scale, sum(x, -widened(op.table[token * C + column]))));
}

void place_tokens_reference(const PlaceTokens& op);
template <class T>
void replace_rows_reference(const ReplaceRows<T>& op);
/// narrow = wide's columns.
template <class T>
void take_listed_columns_reference(const ListedColumns<T>& op);
/// wide's columns = narrow; null: 0.
template <class T>
void put_listed_columns_reference(const ListedColumns<T>& op);

#if __has_include(<cuda_runtime_api.h>)
/// Asynchronous on `stream`; the status of the launches is returned. T: float, Bf16 or Fp16.
cudaError_t place_tokens(const PlaceTokens& op, cudaStream_t stream);
template <class T>
cudaError_t replace_rows(const ReplaceRows<T>& op, cudaStream_t stream);
template <class T>
cudaError_t take_listed_columns(const ListedColumns<T>& op, cudaStream_t stream);
template <class T>
cudaError_t put_listed_columns(const ListedColumns<T>& op, cudaStream_t stream);
#endif

}  // namespace trainx::kernels
