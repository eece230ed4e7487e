#include "kernels/experts/dispatch_rows.hpp"
#include <vector>

namespace trainx::kernels {

void expert_sort_reference(const ExpertSort& op) {
  const std::vector<std::int32_t> indices(op.indices, op.indices + op.items);  // may be the places
  for (std::int64_t i = 0; op.places && i < op.items; ++i) op.places[i] = -1;
  std::int32_t row = 0;  // without gaps
  for (std::int64_t e = 0; e < op.experts; ++e) {
    if (op.offsets) op.offsets[e] = row;
    std::int64_t of_expert = 0;
    for (std::int64_t i = 0; i < op.items; ++i) {
      if (indices[static_cast<std::size_t>(i)] != e) continue;
      if (op.capacity > 0 && of_expert == op.capacity) break;
      if (op.places)
        op.places[i] = op.in_slots ? static_cast<std::int32_t>(e * op.capacity + of_expert) : row;
      ++of_expert;
      ++row;
    }
  }
  if (op.offsets) op.offsets[op.experts] = row;
}

template <class T>
void dispatch_rows_reference(const DispatchRows<T>& op) {
  for (std::int64_t i = 0; i < op.tokens * op.per_token; ++i)
    for (std::int64_t c = 0; op.places[i] >= 0 && c < op.columns; ++c)
      op.rows[op.places[i] * op.columns + c] = op.x[i / op.per_token * op.columns + c];
}

template <class T>
void dispatch_rows_backward_reference(const DispatchRowsBackward<T>& op) {
  for (std::int64_t n = 0; n < op.tokens; ++n)
    for (std::int64_t c = 0; c < op.columns; ++c) {
      double sum = op.addend ? static_cast<double>(widened(op.addend[n * op.columns + c])) : 0;
      for (std::int64_t i = n * op.per_token; i < (n + 1) * op.per_token; ++i)
        if (op.places[i] >= 0)
          sum += static_cast<double>(widened(op.d_rows[op.places[i] * op.columns + c]));
      narrow(static_cast<float>(sum), op.dx[n * op.columns + c]);
    }
}

#define TRAINX_DISPATCH(T)                                       \
  template void dispatch_rows_reference(const DispatchRows<T>&); \
  template void dispatch_rows_backward_reference(const DispatchRowsBackward<T>&);
TRAINX_DISPATCH(float)
TRAINX_DISPATCH(Bf16)
TRAINX_DISPATCH(Fp16)
#undef TRAINX_DISPATCH

}  // namespace trainx::kernels
