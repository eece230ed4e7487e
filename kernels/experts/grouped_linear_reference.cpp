#include "kernels/experts/grouped_linear.hpp"
#include <vector>

namespace trainx::kernels {
namespace {

/// Calls f(expert, row) for each row.
template <class F>
void for_rows(const GroupedSizes& s, F f) {
  for (std::int64_t e = 0; e < s.experts; ++e)
    for (std::int64_t r = s.offsets[e]; r < s.offsets[e + 1]; ++r) f(e, r);
}

template <class T>
double product_element(const T* x, std::int64_t i) {
  return static_cast<double>(widened(x[i]));
}

}  // namespace

template <class T>
void grouped_linear_reference(const GroupedLinear<T>& op) {
  const auto& s = op.sizes;
  for_rows(s, [&](std::int64_t e, std::int64_t r) {
    for (std::int64_t o = 0; o < s.out; ++o) {
      double sum = 0;
      for (std::int64_t i = 0; i < s.in; ++i)
        sum += product_element(op.x, r * s.in + i) *
               product_element(op.weight, (e * s.out + o) * s.in + i);
      narrow(static_cast<float>(sum), op.y[r * s.out + o]);
    }
  });
}

template <class T>
void grouped_linear_backward_input_reference(const GroupedLinearBackwardInput<T>& op) {
  const auto& s = op.sizes;
  std::vector<double> sums(static_cast<std::size_t>(s.in));
  for_rows(s, [&](std::int64_t e, std::int64_t r) {
    sums.assign(sums.size(), 0);
    for (std::int64_t o = 0; o < s.out; ++o)
      for (std::int64_t i = 0; i < s.in; ++i)
        sums[static_cast<std::size_t>(i)] += product_element(op.dy, r * s.out + o) *
                                             product_element(op.weight, (e * s.out + o) * s.in + i);
    for (std::int64_t i = 0; i < s.in; ++i)
      narrow(static_cast<float>(sums[static_cast<std::size_t>(i)]), op.dx[r * s.in + i]);
  });
}

template <class T>
void grouped_linear_backward_weight_reference(const GroupedLinearBackwardWeight<T>& op) {
  const auto& s = op.sizes;
  const auto elements = static_cast<std::size_t>(s.experts * s.out * s.in);
  std::vector<double> sums(elements);
  for (std::size_t i = 0; op.accumulate && i < elements; ++i)
    sums[i] = static_cast<double>(op.d_weight[i]);
  for_rows(s, [&](std::int64_t e, std::int64_t r) {
    for (std::int64_t o = 0; o < s.out; ++o)
      for (std::int64_t i = 0; i < s.in; ++i)
        sums[static_cast<std::size_t>((e * s.out + o) * s.in + i)] +=
            product_element(op.dy, r * s.out + o) * product_element(op.x, r * s.in + i);
  });
  for (std::size_t i = 0; i < elements; ++i) op.d_weight[i] = static_cast<float>(sums[i]);
}

#define TRAINX_GROUPED(T)                                                                      \
  template void grouped_linear_reference(const GroupedLinear<T>&);                             \
  template void grouped_linear_backward_input_reference(const GroupedLinearBackwardInput<T>&); \
  template void grouped_linear_backward_weight_reference(const GroupedLinearBackwardWeight<T>&);
TRAINX_GROUPED(float)
TRAINX_GROUPED(Bf16)
TRAINX_GROUPED(Fp16)
#undef TRAINX_GROUPED

}  // namespace trainx::kernels
