// Rates that come from steps which were measured operation by operation.
#include "hardware/hardware.hpp"
#include "plan/update_rates.hpp"
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include "support/catch.hpp"
#include "support/measured.hpp"

namespace guides_rates_test {

using namespace trainx;

namespace {

// What the profiler adds to each kernel: by how much the operations of a step of small kernels
// together exceed the step (see the test), over their number.
constexpr double profiled_s = 2.7e-6;

double median(std::vector<double> x) {
  std::ranges::sort(x);
  return x.size() % 2 ? x[x.size() / 2] : (x[x.size() / 2 - 1] + x[x.size() / 2]) / 2;
}

/// Runs of trainx, with the command that they ran.
std::vector<nlohmann::json> measured_steps() {
  auto steps = measured_rows("h200/guides/steps.jsonl");
  REQUIRE(steps.size() > 20);
  return steps;
}

struct Product {
  program::Gemm gemm;
  double seconds = 0;
};

/// Of that precision, the median of the steps that have it; those of pooler and classifier, over a
/// row for each sample, are left out.
std::vector<Product> measured_products(const std::string& precision) {
  std::map<std::string, std::vector<double>> times;
  for (const auto& step : measured_steps())
    for (const auto& [problem, sum] : step.at("matrix_products").items())
      if (problem.find(" " + precision) != std::string::npos &&
          problem.find("bf16") == std::string::npos && problem.find(" f16") == std::string::npos)
        times[problem].push_back(sum.at("ms").get<double>() / 1e3 / sum.at("count").get<double>());
  std::vector<Product> products;
  for (const auto& [problem, seconds] : times) {
    Product p;
    long m = 0, n = 0, k = 0;
    REQUIRE(std::sscanf(problem.c_str(), "m %ld n %ld k %ld", &m, &n, &k) == 3);
    if (std::min({m, n, k}) < 256) continue;
    p.gemm = {.m = m, .n = n, .k = k, .a_transposed = problem.find("A^T") != std::string::npos};
    p.seconds = median(seconds);
    products.push_back(p);
  }
  return products;
}

struct Errors {
  double mean = 0, middle = 0, ninth_tenth = 0;
};

Errors errors_of(const std::vector<Product>& products, const program::Rates& rates) {
  std::vector<double> all;
  double sum = 0;
  for (const Product& p : products) {
    all.push_back(std::abs(
        (program::product_time(p.gemm, DType::f32, rates).seconds + rates.kernel_s + profiled_s) /
            p.seconds -
        1));
    sum += all.back();
  }
  std::ranges::sort(all);
  return {sum / static_cast<double>(all.size()), median(all), all[all.size() * 9 / 10]};
}

/// Checks that no other rate of a tile, or loss at its edges, does better by more than `by`.
void check_best(const std::vector<Product>& products, const program::Rates& rates, double mean,
                double by) {
  for (const double rate : {0.9, 0.95, 1.05, 1.1})
    for (const double edge : {0.5, 0.75, 1.0, 1.25, 1.5}) {
      program::Rates other = rates;
      other.tiles.flops_per_s *= rate;
      other.tiles.edge *= edge;
      CAPTURE(rate, edge);
      CHECK(errors_of(products, other).mean > mean - by);
    }
}

}  // namespace

TEST_CASE("what the profiler adds to a kernel is the median over steps of many small ones") {
  std::vector<double> added;
  for (const auto& step : measured_steps()) {
    const double kernels = step.at("kernel_launches");
    double operations_ms = 0;
    for (const auto& [name, ms] : step.at("work_ms").items()) operations_ms += ms.get<double>();
    if (kernels > 2000)
      added.push_back((operations_ms - step.at("step_time_ms").get<double>()) / 1e3 / kernels);
  }
  REQUIRE(added.size() > 8);
  CHECK(std::abs(median(added) / profiled_s - 1) < 0.05);
}

TEST_CASE("waves of tiles predict fp32's matrix products") {
  const program::Rates& rates = hardware::hardware_named("h200").fp32;
  const auto products = measured_products("f32");
  REQUIRE(products.size() > 70);
  program::Rates without = rates;
  without.tiles = {};
  const Errors before = errors_of(products, without), after = errors_of(products, rates);
  std::printf(
      "  errors of predicted fp32 products: mean %.1f %%, median %.1f %%, nine tenths below %.1f "
      "%%; without tiles %.1f %%, %.1f %%, %.1f %%\n",
      100 * after.mean, 100 * after.middle, 100 * after.ninth_tenth, 100 * before.mean,
      100 * before.middle, 100 * before.ninth_tenth);
  CHECK(after.mean < 0.5 * before.mean);
  CHECK(after.mean < 0.05);
  CHECK(after.middle < 0.035);
  check_best(products, rates, after.mean, 0.005);
}

TEST_CASE("waves of tiles predict the series of fp32 products that rates.json was measured with") {
  const program::Rates& rates = hardware::hardware_named("h200").fp32;
  const auto file = measured("h200/rates.json");
  constexpr std::int64_t rows = 65536, width = 768;  // bench/device/rates.py
  double flops = 0, seconds = 0;
  for (const auto& [n, k] :
       {std::pair{3 * width, width}, {width, width}, {4 * width, width}, {width, 4 * width}})
    for (const program::Gemm& g :
         {program::Gemm{rows, n, k}, program::Gemm{rows, k, n},
          program::Gemm{.m = n, .n = k, .k = rows, .a_transposed = true}}) {
      flops += 2.0 * static_cast<double>(g.m) * static_cast<double>(g.n) * static_cast<double>(g.k);
      seconds += program::product_time(g, DType::f32, rates).seconds;
    }
  CHECK(std::abs(flops / seconds / file.at("fp32").at("gemm_flops_per_s").get<double>() - 1) <
        0.04);
}

TEST_CASE("waves of tiles predict tf32's matrix products, those of weight gradients slower") {
  const program::Rates& rates = hardware::hardware_named("h200").tf32;
  const auto products = measured_products("tf32");
  REQUIRE(products.size() == 12);
  program::Rates without = rates;
  without.tiles = {};
  const Errors before = errors_of(products, without), after = errors_of(products, rates);
  std::printf(
      "  errors of predicted tf32 products: mean %.1f %%, median %.1f %%; without tiles %.1f %%, "
      "%.1f %%\n",
      100 * after.mean, 100 * after.middle, 100 * before.mean, 100 * before.middle);
  CHECK(after.mean < 0.75 * before.mean);
  CHECK(after.mean < 0.1);
  check_best(products, rates, after.mean, 0.01);
  // what limits sustained products: those of a forward
  double forward = 0, flops = 0;
  for (const auto& step : measured_steps())
    for (const auto& [problem, sum] : step.at("matrix_products").items()) {
      double m = 0, n = 0, k = 0;
      if (problem.find("B^T tf32") == std::string::npos ||
          std::sscanf(problem.c_str(), "m %lf n %lf k %lf", &m, &n, &k) != 3 || m < 256)
        continue;
      flops += 2 * m * n * k * sum.at("count").get<double>();
      forward += sum.at("ms").get<double>() / 1e3;
    }
  CHECK(std::abs(rates.tiles.sustained_flops_per_s * forward / flops - 1) < 0.01);
}

TEST_CASE("the kernels of adafactor take what was measured of them") {
  // of the norm, which is in the measured time
  constexpr double streamed_bytes_per_s = 3.69e12;
  const hardware::Hardware& device = hardware::hardware_named("h200");
  const auto has = [](const nlohmann::json& step, const char* setting) {
    return std::ranges::count(step.at("command"), nlohmann::json(setting)) > 0;
  };
  int steps = 0;
  for (const auto& step : measured_steps()) {
    if (!has(step, "optimizer.type=adafactor")) continue;
    const bool fp16 = has(step, "precision.compute=fp16"),
               bf16 = has(step, "precision.compute=bf16");
    const double elements = step.at("parameters");
    const auto master = fp16   ? program::Master::fp32
                        : bf16 ? program::Master::split
                               : program::Master::absent;
    const auto rates = plan::update_rates(device, options::AdafactorOptions{},
                                          fp16   ? DType::f16
                                          : bf16 ? DType::bf16
                                                 : DType::f32,
                                          master);
    const double predicted_s = elements * (4 / streamed_bytes_per_s + rates.element_s),
                 measured_s = step.at("work_ms").at("optimizer").get<double>() / 1e3;
    CAPTURE(elements, fp16, bf16);
    CHECK(std::abs(predicted_s / measured_s - 1) < 0.02);
    ++steps;
  }
  CHECK(steps == 5);
}

TEST_CASE("the kernel of adamw_8bit takes what it took in the step of a shard of Llama") {
  const auto step = measured_step("h100/steps.jsonl", "llama-8b-x2");
  const double measured_s = step.at("work_ms").at("optimizer").get<double>() / 1e3;
  const hardware::Hardware& device = hardware::hardware_named("h100");
  const auto rates =
      plan::update_rates(device, options::AdamW8bitOptions{}, DType::bf16, program::Master::absent);
  // of one of two ranks; the norm reads gradients besides
  const double elements = 8.03e9 / 2, norm_s = 4 * elements / device.bf16.memory_bytes_per_s;
  CHECK(std::abs((elements * rates.element_s + norm_s) / measured_s - 1) < 0.03);
}

}  // namespace guides_rates_test
