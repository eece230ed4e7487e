// What LayerNorm and RMSNorm on CPUs do to a row, in fp32, with the vector instructions that the
// processor has.
#pragma once
#include "operations/common/row_arithmetic.hpp"
#include "tensor/tensor.hpp"
#include <vector>

namespace trainx::operations {

struct RowMoments {
  float mean, rstd;  // of an RMSNorm the mean is 0
};
RowMoments row_moments(const float* x, std::int64_t n, bool rms, double epsilon);

/// y = (x - mean) * rstd * weight + shift; null: 1, 0.
void norm_row(float* y, const float* x, RowMoments m, const float* weight, const float* shift,
              std::int64_t n);

/// dx += what d brings through the norm of x.
void norm_row_backward(float* dx, const float* d, const float* x, RowMoments m, const float* weight,
                       bool rms, std::int64_t n);

/// Adds a row's gradients of weight and shift.
void add_norm_parameters(float* d_weight, float* d_shift, const float* d, const float* x,
                         RowMoments m, std::int64_t n);

/// The row itself where it is fp32, else `room` with its values.
inline const float* float_row(const float* row, float*, std::int64_t) { return row; }
template <class T>
const float* float_row(const T* row, float* room, std::int64_t n) {
  read_row(room, row, n);
  return room;
}

/// A parameter in fp32, plus `offset`; empty: it is absent.
std::vector<float> widened(const Tensor& t, double offset = 0);

inline const float* or_null(const std::vector<float>& v) { return v.empty() ? nullptr : v.data(); }

}  // namespace trainx::operations
