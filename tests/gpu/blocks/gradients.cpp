#include "gradients.hpp"
#include <ATen/TensorOperators.h>
#include <ATen/ops/norm.h>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include "support/catch.hpp"

namespace trainx::model::test {
namespace {

/// A quarter of what one rounding may change: tensors that should be zero differ by less.
double noise_of(DType compute) { return compute == DType::f16 ? 1.0 / 8192 : 1.0 / 1024; }

double norm_of(const at::Tensor& t) { return t.to(at::kDouble).norm().item<double>(); }

}  // namespace

std::map<std::string, double> relative_errors(const Gradients& got, const Gradients& want) {
  double all = 0;
  for (const auto& [name, g] : want) all += std::pow(norm_of(g), 2);
  all = std::sqrt(all);
  std::map<std::string, double> errors;
  for (const auto& [name, g] : want) {
    const double size = norm_of(g), difference = norm_of(got.at(name).to(at::kDouble) - g);
    errors[name] = difference / (size > 1e-9 * all ? size : all > 0 ? all : 1);
  }
  return errors;
}

void check_exact(PlainRun& run, const Gradients& want, double loss_sum, double target_count,
                 double tolerance) {
  CHECK(std::abs(run.buffer("loss_sum", DType::f64).item<double>() - loss_sum) <=
        tolerance * loss_sum);
  CHECK(run.buffer("target_count", DType::f64).item<double>() == target_count);
  for (const auto& [name, error] : relative_errors(run.parameters("g.", DType::f32), want)) {
    INFO(name);
    CHECK(error <= tolerance);
  }
}

void check_as_torch(PlainRun& run, const Gradients& want, const Gradients& torch) {
  const auto ours = relative_errors(run.parameters("g.", DType::f32), want),
             theirs = relative_errors(torch, want);
  double worst = 0;
  for (const auto& [name, error] : ours) {
    INFO(name << ": " << error << ", torch " << theirs.at(name));
    const double bound = std::max(theirs.at(name), noise_of(run.graph.compute));
    // bf16: as promised; fp16's errors are an eighth of it
    CHECK(error <= (run.graph.compute == DType::f16 ? 2 : 1.5) * bound);
    worst = std::max(worst, error / bound);
  }
  std::printf("  largest error in parts of torch's: %.2f\n", worst);
}

}  // namespace trainx::model::test
