#include "hardware/hardware.hpp"
#include "core/error.hpp"
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <sstream>
#include <map>
#include <nlohmann/json.hpp>
#include "support/catch.hpp"
#include "support/measured.hpp"

namespace rates_test {

using namespace trainx;

TEST_CASE("the rates that plan uses are the measured ones") {
  for (const auto& [name, path] :
       {std::pair("h100", "h100/rates.json"), std::pair("h200", "h200/rates.json")}) {
    const hardware::Hardware device = hardware::hardware_named(name);
    const auto file = measured(path);
    CHECK(device.memory_bytes == file.at("memory_bytes").get<std::int64_t>());
    auto close = [](double table, const nlohmann::json& figure) {
      return std::abs(table - figure.get<double>()) <= 0.01 * table;
    };
    for (const auto& [rates, key] :
         {std::pair(&device.bf16, "bf16"), std::pair(&device.fp32, "fp32")}) {
      CAPTURE(name, key);
      CHECK(close(rates->gemm_flops_per_s, file.at(key).at("gemm_flops_per_s")));
      if (rates->attention_fill_rows == 0)
        CHECK(close(rates->attention_flops_per_s, file.at(key).at("attention_flops_per_s")));
      CHECK(close(rates->memory_bytes_per_s, file.at("memory_bytes_per_s")));
      CHECK(close(rates->launch_s, file.at("launch_s")));
    }
  }
  const auto h200 = measured("h200/rates.json");
  CHECK(std::abs(hardware::hardware_named("h200").tf32.gemm_flops_per_s /
                     h200.at("tf32").at("gemm_flops_per_s").get<double>() -
                 1) < 0.01);
  const hardware::Hardware gpu = hardware::hardware_named("h200");
  for (const program::Rates* rates : {&gpu.bf16, &gpu.tf32, &gpu.fp32})
    CHECK(std::abs(rates->host_bytes_per_s / h200.at("host_bytes_per_s").get<double>() - 1) < 0.01);
  CHECK_THROWS_AS(hardware::hardware_named("h300"), UserError);
}

TEST_CASE("attention that libraries have no kernel for takes what it took in the step of T5") {
  const double measured_ms =
      measured_step("h100/steps.jsonl", "t5-base-32x1024").at("work_ms").at("attention");
  // pairs of a layer of the encoder, of the decoder, and across
  const double source = 1024, target = 256,
               pairs = source * source + target * (target + 1) / 2 + target * source;
  program::Phase all;
  all.attention_head = 64;
  all.own_attention = true;
  all.attention_flops = 3.5 * 4 * 64 * 12 * 32 * 12 * pairs;  // layers, samples, heads
  const double planned_s = program::attention_s(all, hardware::hardware_named("h100").bf16);
  CHECK(std::abs(1e3 * planned_s / measured_ms - 1) < 0.02);
}

TEST_CASE("fused attention takes what was measured of it, by length, mask and size of heads") {
  int rows = 0;
  for (const auto& row : measured_rows("h100/lengths.jsonl")) {
    const std::string name = row.at("attention");
    long batch = 0, length = 0, heads = 0, head = 0;
    REQUIRE(std::sscanf(name.c_str(), "B %ld T %ld H %ld D %ld", &batch, &length, &heads, &head) ==
            4);
    // shorter rows take longer than their share of tiles, and windows have kernels of trainx's
    if (length < 512 || row.at("path") != "cudnn") continue;
    CAPTURE(name);
    program::Phase both;
    both.attention_rows = batch * heads * length;
    both.attention_head = head;
    both.attention_causal = name.find("causal") != std::string::npos;
    both.attention_keys = both.attention_causal ? static_cast<double>(length + 1) / 2
                                                : static_cast<double>(length);
    both.attention_flops = 3.5 * 4 * static_cast<double>(both.attention_rows * head) *
                           both.attention_keys;
    const double seconds =
        (row.at("forward_ms").get<double>() + row.at("backward_ms").get<double>()) / 1e3;
    const double planned = program::attention_s(both, hardware::hardware_named("h100").bf16);
    CHECK(std::abs(planned / seconds - 1) < 0.1);
    ++rows;
  }
  CHECK(rows == 20);
}

TEST_CASE("trainx's attention for Hopper takes what was measured of it") {
  std::istringstream lines(measured_text("h100/hopper_attention/kernels.txt"));
  int rows = 0;
  for (std::string line; std::getline(lines, line);) {
    long batch = 0, length = 0, heads = 0, head = 0;
    double forward_ms = 0, backward_ms = 0;
    const std::string causal = "causal", who = "trainx", times = " ms ";
    // heads that share keys are not read
    if (line.find(who) == line.npos ||
        std::sscanf(line.c_str(), "B %ld T %ld H %ld D %ld", &batch, &length, &heads, &head) != 4)
      continue;
    REQUIRE(std::sscanf(line.c_str() + line.find(times), " ms %lf %lf", &forward_ms,
                        &backward_ms) == 2);
    if (length < 512) continue;  // shorter rows take longer than their share of tiles
    CAPTURE(line);
    program::Phase both;
    both.attention_rows = batch * heads * length;
    both.attention_head = head;
    both.hopper_attention = true;
    both.attention_causal = line.find(causal) != line.npos;
    both.attention_keys = both.attention_causal ? static_cast<double>(length + 1) / 2
                                                : static_cast<double>(length);
    both.attention_flops = 3.5 * 4 * static_cast<double>(both.attention_rows * head) *
                           both.attention_keys;
    const double planned = program::attention_s(both, hardware::hardware_named("h100").bf16);
    CHECK(std::abs(planned / (forward_ms + backward_ms) * 1e3 - 1) < 0.05);
    both.hopper_attention = false;  // cuDNN's, which are faster for no mask and heads of 128
    CHECK((program::attention_s(both, hardware::hardware_named("h100").bf16) > planned) ==
          (both.attention_causal || head == 64));
    ++rows;
  }
  CHECK(rows == 12);
}

TEST_CASE(
    "attention by own kernels takes what was measured of it, also where it does not fill the GPU") {
  int rows = 0;
  for (const auto& row : measured_rows("h200/attention.jsonl")) {
    const std::string name = row.at("attention");
    long batch = 0, length = 0, heads = 0, head = 0;
    REQUIRE(std::sscanf(name.c_str(), "B %ld T %ld H %ld D %ld", &batch, &length, &heads, &head) ==
            4);
    // of which half of the tiles on the diagonal is computed and not counted
    if (name.find("causal") != std::string::npos) continue;
    CAPTURE(name);
    program::Phase both;
    both.attention_rows = batch * heads * length;
    both.attention_flops = 3.5 * 4 * static_cast<double>(both.attention_rows * length * head);
    both.attention_head = head;
    const program::Rates& rates = name.find("tf32") == std::string::npos
                                      ? hardware::hardware_named("h200").fp32
                                      : hardware::hardware_named("h200").tf32;
    const double seconds =
        (row.at("forward_ms").get<double>() + row.at("backward_ms").get<double>()) / 1e3;
    // there the rest of rows is passed over
    CHECK(std::abs(program::attention_s(both, rates) / seconds - 1) <
          (name.find("padded") == std::string::npos ? 0.02 : 0.6));
    ++rows;
  }
  CHECK(rows == 6);
}

namespace {

struct MeasuredProduct {
  double m = 0, n = 0, k = 0, seconds = 0;
};

/// Products without those that compute GELU beside.
std::vector<MeasuredProduct> measured_products() {
  std::vector<MeasuredProduct> all;
  const auto file = measured("h200/gemm.json");
  for (const auto& [machine, products] : file.items())
    for (const auto& [problem, choice] : products.items()) {
      MeasuredProduct p;
      REQUIRE(std::sscanf(problem.c_str(), "m %lf n %lf k %lf", &p.m, &p.n, &p.k) == 3);
      p.seconds = choice.at("chosen_ms").get<double>() / 1e3;
      if (problem.find("gelu") == std::string::npos) all.push_back(p);
    }
  return all;
}

double median(std::vector<double> x) {
  std::ranges::sort(x);
  return x.size() % 2 ? x[x.size() / 2] : (x[x.size() / 2 - 1] + x[x.size() / 2]) / 2;
}

struct Errors {
  double mean = 0, middle = 0, ninth_tenth = 0;
};

/// Of predictions without their sign, as shares of what was measured.
Errors errors_of(const program::Rates& rates) {
  std::vector<double> all;
  double sum = 0;
  for (const MeasuredProduct& p : measured_products()) {
    const program::Gemm g{static_cast<std::int64_t>(p.m), static_cast<std::int64_t>(p.n),
                          static_cast<std::int64_t>(p.k)};
    all.push_back(std::abs(
        (program::product_time(g, DType::bf16, rates).seconds + rates.kernel_s) / p.seconds - 1));
    sum += all.back();
  }
  std::ranges::sort(all);
  return {sum / static_cast<double>(all.size()), median(all), all[all.size() * 9 / 10]};
}

}  // namespace

TEST_CASE("a sustained product is the median over the measured large ones") {
  const auto device = hardware::hardware_named("h200");
  std::vector<double> rates;
  for (const MeasuredProduct& p : measured_products())
    if (p.seconds > 300e-6) rates.push_back(2 * p.m * p.n * p.k / p.seconds);
  REQUIRE(rates.size() > 20);
  CHECK(std::abs(device.bf16.tiles.sustained_flops_per_s / median(rates) - 1) < 0.01);
}

TEST_CASE("waves of tiles bring predicted matrix products closer to the measured ones") {
  program::Rates with = hardware::hardware_named("h200").bf16, without = with;
  without.tiles = {};
  const Errors before = errors_of(without), after = errors_of(with);
  std::printf(
      "  errors of predicted products: mean %.1f %%, median %.1f %%, nine tenths below %.1f %%; "
      "without tiles %.1f %%, %.1f %%, %.1f %%\n",
      100 * after.mean, 100 * after.middle, 100 * after.ninth_tenth, 100 * before.mean,
      100 * before.middle, 100 * before.ninth_tenth);
  CHECK(after.mean < 0.75 * before.mean);
  CHECK(after.mean < 0.06);
  CHECK(after.middle < 0.04);
  // No other rate of a tile, or loss at its edges, does better by more than a tenth of a percent.
  for (const double rate : {0.9, 0.95, 1.05, 1.1})
    for (const double edge : {0.5, 1.0, 1.5}) {
      program::Rates other = with;
      other.tiles.flops_per_s *= rate;
      other.tiles.edge *= edge;
      CAPTURE(rate, edge);
      CHECK(errors_of(other).mean > after.mean - 0.001);
    }
}

TEST_CASE(
    "what a kernel takes beyond its work is the median over the measured small matrix products") {
  const auto device = hardware::hardware_named("h200");
  const auto file = measured("h200/gemm.json");
  std::vector<double> beyond;
  for (const auto& [machine, products] : file.items())
    for (const auto& [problem, choice] : products.items()) {
      double m = 0, n = 0, k = 0;
      REQUIRE(std::sscanf(problem.c_str(), "m %lf n %lf k %lf", &m, &n, &k) == 3);
      const double ideal_s = 2 * m * n * k / device.bf16.gemm_flops_per_s;
      if (ideal_s < 40e-6 && problem.find("gelu") == std::string::npos)
        beyond.push_back(choice.at("chosen_ms").get<double>() / 1e3 - ideal_s);
    }
  REQUIRE(beyond.size() > 10);
  std::ranges::sort(beyond);
  const double median = beyond.size() % 2
                            ? beyond[beyond.size() / 2]
                            : (beyond[beyond.size() / 2 - 1] + beyond[beyond.size() / 2]) / 2;
  CHECK(std::abs(device.bf16.kernel_s / median - 1) < 0.01);
}

TEST_CASE(
    "rows off 16 bytes, and heads that fused attention does not take, are the medians of measured "
    "ones") {
  const auto device = hardware::hardware_named("h200");
  const auto lines = measured_rows("h200/dimensions.jsonl");
  std::map<std::string, double> aligned;  // of 1024 columns, by the kind of product
  std::map<std::int64_t, std::vector<double>> shares;
  const auto each = [&](const auto& use) {
    for (const auto& row : lines) {
      if (!row.contains("gemm")) continue;
      std::int64_t m = 0, n = 0, k = 0;
      int kind = 0;
      REQUIRE(std::sscanf(row.at("gemm").get<std::string>().c_str(), "m %ld n %ld k %ld %n", &m, &n,
                          &k, &kind) == 3);
      if (n > 1015 && n < 1025)
        use(n, row.at("gemm").get<std::string>().substr(static_cast<std::size_t>(kind)),
            row.at("tuned_tflops").get<double>());
    }
  };
  each([&](std::int64_t n, const std::string& kind, double tflops) {
    if (n == 1024) aligned[kind] = tflops;
  });
  each([&](std::int64_t n, const std::string& kind, double tflops) {
    if (n % 8 != 0) shares[n % 2].push_back(tflops / aligned.at(kind));
  });
  REQUIRE(shares[0].size() == 6);
  REQUIRE(shares[1].size() == 3);
  CHECK(std::abs(device.bf16.tiles.share_of_4 / median(shares[0]) - 1) < 0.01);
  CHECK(std::abs(device.bf16.tiles.share_of_2 / median(shares[1]) - 1) < 0.01);

  for (const auto& row : lines) {
    std::int64_t batch = 0, length = 0, heads = 0, head = 0;
    if (!row.contains("attention") ||
        std::sscanf(row.at("attention").get<std::string>().c_str(), "B %ld T %ld H %ld D %ld",
                    &batch, &length, &heads, &head) != 4)
      continue;
    CAPTURE(head);
    CHECK((row.at("path") == "cudnn") == program::has_fused_attention(head));
    if (row.at("path") == "cudnn") continue;
    // causal; backward is 2.5 times forward
    const double flops = 3.5 * 2 * static_cast<double>(batch * heads * length * length * head);
    CHECK(std::abs(device.bf16.plain_attention_flops_per_s *
                       (row.at("forward_ms").get<double>() + row.at("backward_ms").get<double>()) *
                       1e-3 / flops -
                   1) < 0.01);
  }
}

}  // namespace rates_test
