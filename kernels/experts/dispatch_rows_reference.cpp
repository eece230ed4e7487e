#include "kernels/experts/dispatch_rows.hpp"

namespace trainx::kernels {

void expert_sort_reference(const ExpertSort& op) {
  const std::int64_t each = op.experts / op.parts, slots = op.parts * op.capacity;
  const bool is_capped = op.parts == 1 && op.capacity > 0;
  for (std::int64_t i = 0; op.owners && i < slots; ++i) op.owners[i] = -1;
  for (std::int64_t i = 0; op.places && i < op.items; ++i) op.places[i] = -1;
  std::int32_t row = 0;      // without gaps
  std::int64_t in_slot = 0;  // rows of the part so far
  for (std::int64_t e = 0; e < op.experts; ++e) {
    if (op.offsets) op.offsets[e] = row;
    if (is_capped || e % each == 0) in_slot = 0;
    for (std::int64_t i = 0; i < op.items; ++i) {
      if (op.indices[i] != e) continue;
      if ((op.parts > 1 || is_capped) && in_slot == op.capacity) continue;
      const std::int64_t place = op.parts > 1 ? e / each * op.capacity + in_slot : row;
      if (op.places) op.places[i] = static_cast<std::int32_t>(place);
      if (op.owners) op.owners[place] = static_cast<std::int32_t>(e % each);
      ++in_slot;
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
