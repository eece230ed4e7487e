#include "operations/common/element.hpp"
#include "operations/norm/layer_norm.hpp"
#include "operations/norm/row_statistics.hpp"
#include <algorithm>
#include "operations/norm/norm_backends.hpp"
#include "operations/common/timed_work.hpp"
#include "tensor/parallel.hpp"

namespace trainx::operations {

namespace {

/// Rows [begin, end) of the whole operands.
struct Rows {
  std::int64_t begin, end, columns;
};

template <class T>
TRAINX_INLINE void statistics(Rows rows, float* mean, float* rstd, const T* x, double epsilon) {
  for (std::int64_t r = rows.begin; r < rows.end; ++r) {
    const RowStatistics row = row_statistics(x + r * rows.columns, rows.columns, epsilon);
    mean[r] = row.mean;
    rstd[r] = row.rstd;
  }
}
TRAINX_CLONES void statistics_rows(Rows rows, float* mean, float* rstd, const float* x, double e) {
  statistics(rows, mean, rstd, x, e);
}
TRAINX_CLONES void statistics_rows(Rows rows, float* mean, float* rstd, const Bf16* x, double e) {
  statistics(rows, mean, rstd, x, e);
}
TRAINX_CLONES void statistics_rows(Rows rows, float* mean, float* rstd, const Fp16* x, double e) {
  statistics(rows, mean, rstd, x, e);
}

template <class T>
TRAINX_INLINE void apply_row(T* out, const T* in, RowStatistics row, const T* weight, const T* bias,
                             std::int64_t columns) {
  const float m = row.mean, s = row.rstd;
#pragma omp simd
  for (std::int64_t c = 0; c < columns; ++c)
    store(out[c], (load(in[c]) - m) * s * load(weight[c]) + load(bias[c]));
}

template <class T>
TRAINX_INLINE void apply(Rows rows, T* normed, const T* x, const float* mean, const float* rstd,
                         const T* weight, const T* bias) {
  for (std::int64_t r = rows.begin; r < rows.end; ++r)
    apply_row(normed + r * rows.columns, x + r * rows.columns, {mean[r], rstd[r]}, weight, bias,
              rows.columns);
}
TRAINX_CLONES void apply_rows(Rows rows, float* y, const float* x, const float* m, const float* s,
                              const float* w, const float* b) {
  apply(rows, y, x, m, s, w, b);
}
TRAINX_CLONES void apply_rows(Rows rows, Bf16* y, const Bf16* x, const float* m, const float* s,
                              const Bf16* w, const Bf16* b) {
  apply(rows, y, x, m, s, w, b);
}
TRAINX_CLONES void apply_rows(Rows rows, Fp16* y, const Fp16* x, const float* m, const float* s,
                              const Fp16* w, const Fp16* b) {
  apply(rows, y, x, m, s, w, b);
}

template <class T>
TRAINX_INLINE void norm(Rows rows, T* normed, const T* x, const T* weight, const T* bias,
                        double epsilon) {
  for (std::int64_t r = rows.begin; r < rows.end; ++r) {
    const T* in = x + r * rows.columns;
    apply_row(normed + r * rows.columns, in, row_statistics(in, rows.columns, epsilon), weight,
              bias, rows.columns);
  }
}
TRAINX_CLONES void norm_rows(Rows rows, float* y, const float* x, const float* w, const float* b,
                             double e) {
  norm(rows, y, x, w, b, e);
}
TRAINX_CLONES void norm_rows(Rows rows, Bf16* y, const Bf16* x, const Bf16* w, const Bf16* b,
                             double e) {
  norm(rows, y, x, w, b, e);
}
TRAINX_CLONES void norm_rows(Rows rows, Fp16* y, const Fp16* x, const Fp16* w, const Fp16* b,
                             double e) {
  norm(rows, y, x, w, b, e);
}

/// With g = d_normed * weight and z = (x - mean) * rstd: dx = rstd * (g - average(g) - z *
/// average(g z)).
template <class T>
TRAINX_INLINE void backward(Rows rows, T* dx, const T* d_sum, const T* dy, const T* x,
                            const float* mean, const float* rstd, const T* weight) {
  const auto n = static_cast<float>(rows.columns);
  for (std::int64_t r = rows.begin; r < rows.end; ++r) {
    const std::int64_t at = r * rows.columns;
    const float m = mean[r], s = rstd[r];
    float sum_g = 0, sum_gz = 0;
#pragma omp simd reduction(+ : sum_g, sum_gz)
    for (std::int64_t c = 0; c < rows.columns; ++c) {
      const float g = load(dy[at + c]) * load(weight[c]);
      sum_g += g;
      sum_gz += g * ((load(x[at + c]) - m) * s);
    }
    const float average_g = sum_g / n, average_gz = sum_gz / n;
#pragma omp simd
    for (std::int64_t c = 0; c < rows.columns; ++c) {
      const float z = (load(x[at + c]) - m) * s;
      const float from_norm = s * (load(dy[at + c]) * load(weight[c]) - average_g - z * average_gz);
      store(dx[at + c], d_sum ? load(d_sum[at + c]) + from_norm : from_norm);
    }
  }
}
TRAINX_CLONES void backward_rows(Rows rows, float* dx, const float* ds, const float* dy,
                                 const float* x, const float* m, const float* s, const float* w) {
  backward(rows, dx, ds, dy, x, m, s, w);
}
TRAINX_CLONES void backward_rows(Rows rows, Bf16* dx, const Bf16* ds, const Bf16* dy, const Bf16* x,
                                 const float* m, const float* s, const Bf16* w) {
  backward(rows, dx, ds, dy, x, m, s, w);
}
TRAINX_CLONES void backward_rows(Rows rows, Fp16* dx, const Fp16* ds, const Fp16* dy, const Fp16* x,
                                 const float* m, const float* s, const Fp16* w) {
  backward(rows, dx, ds, dy, x, m, s, w);
}

// columns summed side by side over all rows: the sums stay in registers and need no scratch
constexpr std::int64_t strip_columns = 64;

/// Sums over all rows for columns [first, first + width), width <= strip_columns.
template <class T>
TRAINX_INLINE void parameters(std::int64_t first, std::int64_t width, std::int64_t rows,
                              std::int64_t columns, float* d_weight, float* d_bias, const T* dy,
                              const T* x, const float* mean, const float* rstd, bool accumulate) {
  float weight_sums[strip_columns] = {}, bias_sums[strip_columns] = {};
  for (std::int64_t r = 0; r < rows; ++r) {
    const T *dy_row = dy + r * columns + first, *x_row = x + r * columns + first;
    const float m = mean[r], s = rstd[r];
#pragma omp simd
    for (std::int64_t c = 0; c < width; ++c) {
      weight_sums[c] += load(dy_row[c]) * ((load(x_row[c]) - m) * s);
      bias_sums[c] += load(dy_row[c]);
    }
  }
  for (std::int64_t c = 0; c < width; ++c) {
    d_weight[first + c] = (accumulate ? d_weight[first + c] : 0.0f) + weight_sums[c];
    d_bias[first + c] = (accumulate ? d_bias[first + c] : 0.0f) + bias_sums[c];
  }
}
TRAINX_CLONES void parameters_strip(std::int64_t first, std::int64_t width, std::int64_t rows,
                                    std::int64_t columns, float* dw, float* db, const float* dy,
                                    const float* x, const float* m, const float* s,
                                    bool accumulate) {
  parameters(first, width, rows, columns, dw, db, dy, x, m, s, accumulate);
}
TRAINX_CLONES void parameters_strip(std::int64_t first, std::int64_t width, std::int64_t rows,
                                    std::int64_t columns, float* dw, float* db, const Bf16* dy,
                                    const Bf16* x, const float* m, const float* s,
                                    bool accumulate) {
  parameters(first, width, rows, columns, dw, db, dy, x, m, s, accumulate);
}
TRAINX_CLONES void parameters_strip(std::int64_t first, std::int64_t width, std::int64_t rows,
                                    std::int64_t columns, float* dw, float* db, const Fp16* dy,
                                    const Fp16* x, const float* m, const float* s,
                                    bool accumulate) {
  parameters(first, width, rows, columns, dw, db, dy, x, m, s, accumulate);
}

template <class F>
void for_rows(const Tensor& x, F f) {
  tensor::parallel_for(0, x.size(0), row_grain(x.size(1)),
                       [&](std::int64_t begin, std::int64_t end) {
                         f(Rows{begin, end, x.size(1)});
                       });
}

}  // namespace

void layer_norm_statistics(const Tensor& mean, const Tensor& rstd, const Tensor& x,
                           double epsilon) {
  with_element(x, [&]<class T>(T) {
    for_rows(x, [&](Rows rows) {
      statistics_rows(rows, data<float>(mean), data<float>(rstd), data<T>(x), epsilon);
    });
  });
}

void layer_norm_apply(const Tensor& normed, const Tensor& x, const Tensor& mean, const Tensor& rstd,
                      const Tensor& weight, const Tensor& bias) {
  with_element(x, [&]<class T>(T) {
    for_rows(x, [&](Rows rows) {
      apply_rows(rows, data<T>(normed), data<T>(x), data<float>(mean), data<float>(rstd),
                 data<T>(weight), data<T>(bias));
    });
  });
}

void cpu::layer_norm(const Tensor& normed, const Tensor& x, const Tensor& weight,
                     const Tensor& bias, double epsilon) {
  const TimedWork timed(Work::norm);
  with_element(x, [&]<class T>(T) {
    for_rows(x, [&](Rows rows) {
      norm_rows(rows, data<T>(normed), data<T>(x), data<T>(weight), data<T>(bias), epsilon);
    });
  });
}

void layer_norm_backward(const Tensor& dx, const Tensor& d_sum, const Tensor& d_normed,
                         const Tensor& x, const Tensor& mean, const Tensor& rstd,
                         const Tensor& weight) {
  with_element(x, [&]<class T>(T) {
    for_rows(x, [&](Rows rows) {
      backward_rows(rows, data<T>(dx), d_sum.defined() ? data<T>(d_sum) : nullptr,
                    data<T>(d_normed), data<T>(x), data<float>(mean), data<float>(rstd),
                    data<T>(weight));
    });
  });
}

void layer_norm_backward_parameters(const Tensor& d_weight, const Tensor& d_bias,
                                    const Tensor& d_normed, const Tensor& x, const Tensor& mean,
                                    const Tensor& rstd, bool accumulate) {
  const std::int64_t rows = x.size(0), columns = x.size(1),
                     strips = (columns + strip_columns - 1) / strip_columns;
  with_element(x, [&]<class T>(T) {
    tensor::parallel_for(0, strips, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i)
        parameters_strip(i * strip_columns, std::min(strip_columns, columns - i * strip_columns),
                         rows, columns, data<float>(d_weight), data<float>(d_bias),
                         data<T>(d_normed), data<T>(x), data<float>(mean), data<float>(rstd),
                         accumulate);
    });
  });
}

}  // namespace trainx::operations
