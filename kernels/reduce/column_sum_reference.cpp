#include "kernels/reduce/column_sum.hpp"

namespace trainx::kernels {
namespace {

template <class T>
void columns(const ColumnSum<T>& op) {
  for (std::int64_t c = 0; c < op.columns; ++c) {
    double total = op.accumulate ? op.sums[c] : 0;
    for (std::int64_t r = 0; r < op.rows; ++r) total += widened(op.x[r * op.columns + c]);
    op.sums[c] = static_cast<float>(total);
  }
}

}  // namespace

void column_sum_reference(const ColumnSum<float>& op) { columns(op); }
void column_sum_reference(const ColumnSum<Bf16>& op) { columns(op); }
void column_sum_reference(const ColumnSum<Fp16>& op) { columns(op); }
void column_sum_reference(const ColumnSumOfTwo& op) {
  float* sums = op.sums;
  for (int k = 0; k < 2; ++k) {
    columns(ColumnSum<float>{op.rows[k], op.columns[k], op.x[k], sums, op.accumulate});
    sums += op.columns[k];
  }
}

}  // namespace trainx::kernels
