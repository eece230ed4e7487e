#include "merge/add_low_rank.hpp"
#include <algorithm>
#include <thread>

namespace trainx::merge {

namespace {

/// Calls f(first, last) for parts of [0, count), on as many threads as the machine has.
template <class F>
void in_threads(std::int64_t count, const F& f) {
  const std::int64_t threads = std::clamp<std::int64_t>(std::thread::hardware_concurrency(), 1,
                                                        std::max<std::int64_t>(count, 1));
  std::vector<std::jthread> running;
  for (std::int64_t t = 0; t < threads; ++t)
    running.emplace_back([&, t] { f(count * t / threads, count * (t + 1) / threads); });
}

/// weight[rows, columns] += scale * left[rows, rank] right[rank, columns].
void add_product(std::span<float> weight, std::int64_t columns, const std::vector<float>& left,
                 const std::vector<float>& right, std::int64_t rank, float scale) {
  const std::int64_t rows = std::ssize(weight) / columns;
  in_threads(rows, [&](std::int64_t first, std::int64_t last) {
    std::vector<float> sum(static_cast<std::size_t>(columns));
    for (std::int64_t i = first; i < last; ++i) {
      std::ranges::fill(sum, 0.0f);
      for (std::int64_t r = 0; r < rank; ++r) {
        const float factor = left[static_cast<std::size_t>(i * rank + r)];
        const float* row = right.data() + r * columns;
        for (std::int64_t j = 0; j < columns; ++j)
          sum[static_cast<std::size_t>(j)] += factor * row[j];
      }
      float* out = weight.data() + i * columns;
      for (std::int64_t j = 0; j < columns; ++j) out[j] += scale * sum[static_cast<std::size_t>(j)];
    }
  });
}

std::vector<float> transposed_copy(const std::vector<float>& x, std::int64_t rows,
                                   std::int64_t columns) {
  std::vector<float> out(x.size());
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j)
      out[static_cast<std::size_t>(j * rows + i)] = x[static_cast<std::size_t>(i * columns + j)];
  return out;
}

}  // namespace

namespace {

/// Of one matrix, which is expert e's.
void add_low_rank(const plan::AdapterPlan::Added& added, const program::ParameterSpec& parameter,
                  const LowRankTensors& tensors, std::int64_t e, std::span<float> saved) {
  const std::int64_t columns = parameter.dims.back(), rows = std::ssize(saved) / columns,
                     in = added.of_embedding ? rows : columns,
                     out = added.of_embedding ? columns : rows, rank = tensors.rank,
                     first = added.to.first_row;
  const std::vector<float> a(tensors.a.begin() + e * rank * in,
                             tensors.a.begin() + (e + 1) * rank * in);
  std::vector<float> b;
  b.reserve(static_cast<std::size_t>(out * rank));
  for (std::int64_t o = first; o < first + out; ++o)
    for (std::int64_t j = 0; j < rank; ++j)
      b.push_back(tensors.b[static_cast<std::size_t>((o * rank + j) * added.experts + e)]);
  const auto scale = static_cast<float>(added.scale);
  if (parameter.saved_transposed || added.of_embedding)
    add_product(saved, out, transposed_copy(a, rank, in), transposed_copy(b, out, rank), rank,
                scale);
  else
    add_product(saved, in, b, a, rank, scale);
}

}  // namespace

void add_low_rank(const plan::AdapterPlan::Added& added, const program::ParameterSpec& parameter,
                  const LowRankTensors& tensors, std::span<float> saved) {
  if (parameter.dims.size() < 3)
    return add_low_rank(added, parameter, tensors, std::max(added.to.expert, 0), saved);
  const std::int64_t experts = parameter.dims.front();
  const std::size_t each = saved.size() / static_cast<std::size_t>(experts);
  for (std::int64_t e = 0; e < experts; ++e)
    add_low_rank(added, parameter, tensors, e,
                 saved.subspan(static_cast<std::size_t>(e) * each, each));
}

}  // namespace trainx::merge
