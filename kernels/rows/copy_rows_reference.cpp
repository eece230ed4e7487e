#include "kernels/loss/cross_entropy.hpp"
#include "kernels/rows/copy_rows.hpp"
#include <algorithm>

namespace trainx::kernels {
namespace {

template <class T>
void gather(const CopyRows<T>& op) {
  for (std::int64_t r = 0; r < op.count; ++r) {
    if (op.rows[r] < 0)
      std::fill_n(op.to + r * op.columns, op.columns, T{});
    else
      std::copy_n(op.from + op.rows[r] * op.columns, op.columns, op.to + r * op.columns);
  }
}
template <class T>
void scatter(const CopyRows<T>& op) {
  for (std::int64_t r = 0; r < op.count; ++r)
    if (op.rows[r] >= 0)
      std::copy_n(op.from + r * op.columns, op.columns, op.to + op.rows[r] * op.columns);
}

}  // namespace

void gather_rows_reference(const CopyRows<float>& op) { gather(op); }
void gather_rows_reference(const CopyRows<Bf16>& op) { gather(op); }
void gather_rows_reference(const CopyRows<Fp16>& op) { gather(op); }
void scatter_rows_reference(const CopyRows<float>& op) { scatter(op); }
void scatter_rows_reference(const CopyRows<Bf16>& op) { scatter(op); }
void scatter_rows_reference(const CopyRows<Fp16>& op) { scatter(op); }

void select_targets_reference(const SelectTargets& op) {
  std::int64_t found = 0;
  for (std::int64_t i = 0; i < op.count; ++i) {
    if (op.targets[i] == no_target) continue;
    if (found < op.capacity) {
      op.rows[found] = i;
      op.row_targets[found] = op.targets[i];
    }
    ++found;
  }
  if (op.found) *op.found = found;
  for (; found < op.capacity; ++found) {
    op.rows[found] = -1;
    op.row_targets[found] = no_target;
  }
}

void first_rows_reference(std::int64_t* rows, std::int64_t samples, std::int64_t length) {
  for (std::int64_t b = 0; b < samples; ++b) rows[b] = b * length;
}

}  // namespace trainx::kernels
