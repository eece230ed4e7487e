#include "optim/adafactor.hpp"
#include "optim/group_table.hpp"
#include "optim/group_update.hpp"
#include "optim/step_factor.hpp"
#include <ATen/Parallel.h>
#include <cmath>

namespace trainx::optim {
namespace {

struct AdafactorStep {
  float gradient_factor;
  float beta2, one_minus_beta2;         // 1 - t^decay_rate
  double lr;                            // before a tensor's own scale
};

/// A tensor as matrices of rows x columns, without padding; a vector is one row.
struct Matrices {
  std::int64_t count, rows, columns;
  explicit Matrices(const program::ParameterSpec& p)
      : count(1), rows(p.rows()), columns(p.dims.back()) {
    for (std::size_t d = 0; d + 2 < p.dims.size(); ++d) count *= p.dims[d];
    rows /= count;
  }
  std::int64_t all_rows() const { return count * rows; }
  std::int64_t elements() const { return all_rows() * columns; }
};

/// Rows that a thread takes at a time: by size alone, so that sums do not depend on the number of threads.
struct Stripes {
  std::int64_t rows, height, count;
  Stripes(std::int64_t all_rows, std::int64_t columns) : rows(all_rows), height(std::max<std::int64_t>(1, chunk_elements / columns)), count((all_rows + height - 1) / height) {}
  template <class Use>
  void for_each(const Use& use) const {
    at::parallel_for(0, count, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t s = begin; s < end; ++s) use(s, s * height, std::min(rows, (s + 1) * height));
    });
  }
  /// Sum of use(stripe) over the stripes, in order.
  template <class Term>
  double sum(const Term& term) const {
    std::vector<double> sums(static_cast<std::size_t>(count));
    for_each([&](std::int64_t s, std::int64_t begin, std::int64_t end) { sums[static_cast<std::size_t>(s)] = term(begin, end); });
    double total = 0;
    for (const double x : sums) total += x;
    return total;
  }
};

double square(float x) { return static_cast<double>(x) * static_cast<double>(x); }

class Adafactor final : public Optimizer {
 public:
  explicit Adafactor(const spec::AdafactorOptions& options) : options_(options), states_(spec::states(options)) {}

  void update(const GroupMemory& memory, const StepScalars& scalars) const override {
    const auto factor = step_factor(scalars);
    const auto ranges = update_ranges(memory, states_);
    if (!factor) return;
    const double decay = std::pow(static_cast<double>(scalars.applied_steps + 1), options_.decay_rate);
    const AdafactorStep step{*factor, static_cast<float>(1 - decay), static_cast<float>(decay), scalars.lr};
    with_weights(memory, [&](const auto& weights_at) {
      for (std::size_t k = 0; k < ranges.size(); ++k) update_tensor(memory.group->parameters[k], ranges[k], weights_at(memory.group->parameters[k].offset), step);
    });
  }

 private:
  template <class Weights>
  void update_tensor(const program::ParameterSpec& p, const kernels::UpdateRange& range, const Weights& weights, const AdafactorStep& step) const {
    const Matrices m(p);
    const Stripes stripes(m.all_rows(), m.columns);
    const std::int64_t n = m.columns;
    const auto row_sum = [n](std::int64_t begin, std::int64_t end, const auto& term) {
      double sum = 0;
      for (std::int64_t i = begin * n; i < end * n; ++i) sum += term(i);
      return sum;
    };
    float lr = static_cast<float>(step.lr);
    if (options_.scale_parameter) {
      const double squares = stripes.sum([&](std::int64_t begin, std::int64_t end) { return row_sum(begin, end, [&](std::int64_t i) { return square(weights.load(i)); }); });
      lr = static_cast<float>(step.lr * std::max(options_.eps2, std::sqrt(squares / static_cast<double>(m.elements()))));
    }
    std::vector<float> row_factors(static_cast<std::size_t>(m.all_rows()), 1.0f), column_factors(static_cast<std::size_t>(m.count * n), 1.0f);
    auto* const second = static_cast<float*>(range.states[2]);
    const bool factored = !second;
    if (factored) factor(range, m, stripes, step, row_factors, column_factors);
    else second_moments(range, second, n, step);

    const auto direction = [&](std::int64_t row, std::int64_t column) {   // before clipping
      const float g = range.gradient[row * n + column] * step.gradient_factor;
      if (!factored) return g * (1.0f / std::sqrt(second[column]));
      return row_factors[static_cast<std::size_t>(row)] * column_factors[static_cast<std::size_t>(row / m.rows * n + column)] * g;
    };
    const double squares = stripes.sum([&](std::int64_t begin, std::int64_t end) {
      double sum = 0;
      for (std::int64_t row = begin; row < end; ++row)
        for (std::int64_t column = 0; column < n; ++column) sum += square(direction(row, column));
      return sum;
    });
    const auto clip = static_cast<float>(std::max(1.0, std::sqrt(squares / static_cast<double>(m.elements())) / options_.clip_threshold));
    const float decay = p.decay ? static_cast<float>(options_.weight_decay) * lr : 0.0f;
    const float beta1 = static_cast<float>(options_.beta1.value_or(0)), one_minus_beta1 = static_cast<float>(1 - options_.beta1.value_or(0));
    auto* const first = static_cast<float*>(range.states[3]);
    stripes.for_each([&](std::int64_t, std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row)
        for (std::int64_t column = 0; column < n; ++column) {
          const std::int64_t i = row * n + column;
          float u = direction(row, column) / clip * lr;
          if (first) u = first[i] = first[i] * beta1 + one_minus_beta1 * u;
          const float w = weights.load(i);
          weights.store(i, (w - decay * w) - u);
        }
    });
  }

  /// Of a matrix: updates the means of its rows and columns, and makes of them what a gradient is multiplied by.
  void factor(const kernels::UpdateRange& range, const Matrices& m, const Stripes& stripes, const AdafactorStep& step, std::vector<float>& row_factors, std::vector<float>& column_factors) const {
    const std::int64_t n = m.columns;
    auto *const rows = static_cast<float*>(range.states[0]), *const columns = static_cast<float*>(range.states[1]);
    const auto squared = [&](std::int64_t row, std::int64_t column) {
      const float g = range.gradient[row * n + column] * step.gradient_factor;
      return g * g + static_cast<float>(options_.eps1);
    };
    stripes.for_each([&](std::int64_t, std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        double sum = 0;
        for (std::int64_t column = 0; column < n; ++column) sum += squared(row, column);
        rows[row] = rows[row] * step.beta2 + step.one_minus_beta2 * static_cast<float>(sum / static_cast<double>(n));
      }
    });
    const Stripes across(n, m.rows);
    for (std::int64_t k = 0; k < m.count; ++k) {
      across.for_each([&](std::int64_t, std::int64_t begin, std::int64_t end) {
        std::vector<double> sums(static_cast<std::size_t>(end - begin));
        for (std::int64_t row = k * m.rows; row < (k + 1) * m.rows; ++row)
          for (std::int64_t column = begin; column < end; ++column) sums[static_cast<std::size_t>(column - begin)] += squared(row, column);
        for (std::int64_t column = begin; column < end; ++column) {
          float& mean = columns[k * n + column];
          mean = mean * step.beta2 + step.one_minus_beta2 * static_cast<float>(sums[static_cast<std::size_t>(column - begin)] / static_cast<double>(m.rows));
          column_factors[static_cast<std::size_t>(k * n + column)] = 1.0f / std::sqrt(mean);
        }
      });
      double sum = 0;
      for (std::int64_t row = k * m.rows; row < (k + 1) * m.rows; ++row) sum += rows[row];
      const auto mean = static_cast<float>(sum / static_cast<double>(m.rows));
      for (std::int64_t row = k * m.rows; row < (k + 1) * m.rows; ++row) row_factors[static_cast<std::size_t>(row)] = 1.0f / std::sqrt(rows[row] / mean);
    }
  }

  /// Of a vector.
  void second_moments(const kernels::UpdateRange& range, float* second, std::int64_t n, const AdafactorStep& step) const {
    for (std::int64_t i = 0; i < n; ++i) {
      const float g = range.gradient[i] * step.gradient_factor;
      second[i] = second[i] * step.beta2 + step.one_minus_beta2 * (g * g + static_cast<float>(options_.eps1));
    }
  }

  spec::AdafactorOptions options_;
  std::vector<program::StateSpec> states_;
};

}  // namespace

std::unique_ptr<Optimizer> make(const spec::AdafactorOptions& options) { return std::make_unique<Adafactor>(options); }

}  // namespace trainx::optim
