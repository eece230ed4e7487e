#include "kernels/rows/listed_tokens.hpp"
#include <unordered_map>

namespace trainx::kernels {

void place_tokens_reference(const PlaceTokens& op) {
  std::unordered_map<std::int32_t, std::int32_t> places;
  for (std::int32_t k = 0; k < op.count; ++k) places.emplace(op.ids[k], k);
  for (std::int64_t n = 0; n < op.rows; ++n) {
    const auto at = places.find(op.tokens[n]);
    op.places[n] = at == places.end() ? op.count : at->second;
  }
}

template <class T>
void replace_rows_reference(const ReplaceRows<T>& op) {
  for (std::int64_t n = 0; n < op.count; ++n)
    for (std::int64_t c = 0; c < op.columns; ++c) {
      const std::int64_t i = n * op.columns + c;
      if (op.places[n] >= op.others)
        op.y[i] = op.base[i];
      else
        narrow(replaced(op, n, c), op.y[i]);
    }
}

template <class T>
void take_listed_columns_reference(const ListedColumns<T>& op) {
  for (std::int64_t n = 0; n < op.rows; ++n)
    for (std::int32_t k = 0; k < op.count; ++k)
      op.narrow[n * op.count + k] = op.ids[k] < 0 ? T{} : op.wide[n * op.columns + op.ids[k]];
}

template <class T>
void put_listed_columns_reference(const ListedColumns<T>& op) {
  for (std::int64_t n = 0; n < op.rows; ++n)
    for (std::int32_t k = 0; k < op.count; ++k)
      if (op.ids[k] >= 0)
        op.wide[n * op.columns + op.ids[k]] = op.narrow ? op.narrow[n * op.count + k] : T{};
}

#define TRAINX_LISTED(T)                                                \
  template void replace_rows_reference(const ReplaceRows<T>&);          \
  template void take_listed_columns_reference(const ListedColumns<T>&); \
  template void put_listed_columns_reference(const ListedColumns<T>&);
TRAINX_LISTED(float)
TRAINX_LISTED(Bf16)
TRAINX_LISTED(Fp16)
#undef TRAINX_LISTED

}  // namespace trainx::kernels
