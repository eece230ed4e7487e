// The loss of one row by what all ranks know of it, on the host and on a GPU.
#pragma once
#include "kernels/host_device.hpp"
#include "kernels/loss/cross_entropy.hpp"
#include "kernels/loss/logit_sums.hpp"
#include <cmath>

namespace trainx::kernels {

struct PartLossRow {
  double z = 0;  // the logarithm of the sum of all exponentials
  double loss = 0;
  std::int64_t best = 0;  // the class of the largest logit, the first of equals
};

/// Of a row that has a target.
TRAINX_HOST_DEVICE PartLossRow part_loss_row(const PartLoss& op, std::int64_t row) {
  using N = LogitNumber;
  const auto number = [&](std::int64_t rank, int which) {
    return static_cast<double>(op.numbers[(rank * op.rows + row) * N::count + which]);
  };
  double most = -INFINITY, sum = 0, target = 0, total = 0;
  PartLossRow out;
  for (std::int64_t p = 0; p < op.ranks; ++p) {
    if (number(p, N::largest) > most || p == 0) {
      most = number(p, N::largest);
      out.best = static_cast<std::int64_t>(number(p, N::best));
    }
    target += number(p, N::at_target);
    total += number(p, N::total);
  }
  for (std::int64_t p = 0; p < op.ranks; ++p)
    sum += number(p, N::exponentials) * exp(number(p, N::largest) - most);
  out.z = log(sum) + most;
  const bool is_class = op.targets[row] >= 0 && op.targets[row] < op.classes;
  out.loss = is_class ? out.z - (1 - op.smoothing) * target -
                            op.smoothing * total / static_cast<double>(op.classes) +
                            op.z_loss * out.z * out.z
                      : static_cast<double>(NAN);
  return out;
}

/// Writes the row's d_numbers.
TRAINX_HOST_DEVICE void part_loss_gradient_row(const PartLossGradient& op, std::int64_t row,
                                               double seed) {
  using N = LogitNumber;
  float* const d = op.d_numbers + row * N::count;
  for (int k = 0; k < N::count; ++k) d[k] = 0;
  if (op.of.targets[row] == no_target) return;
  const PartLossRow known = part_loss_row(op.of, row);
  const double own = op.of.numbers[(op.place * op.of.rows + row) * N::count + N::largest];
  const double of_z = known.loss == known.loss ? seed * (1 + 2 * op.of.z_loss * known.z)
                                               : known.loss;
  d[N::exponentials] = static_cast<float>(of_z * exp(own - known.z));
  d[N::at_target] = static_cast<float>(-seed * (1 - op.of.smoothing));
  d[N::total] = static_cast<float>(-seed * op.of.smoothing / static_cast<double>(op.of.classes));
}

}  // namespace trainx::kernels
