#include "plan/rates.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include "support/catch.hpp"

using namespace trainx;

TEST_CASE("the rates that plan uses are the measured ones") {
  for (const char* name : {"h100", "h200"}) {
    const plan::Device device = plan::device_named(name);
    const auto measured = nlohmann::json::parse(read_file(std::string(TRAINX_SOURCE_DIR) + "/bench/results/" + name + "/rates.json"));
    CHECK(device.memory_bytes == measured.at("memory_bytes").get<std::int64_t>());
    auto close = [](double table, const nlohmann::json& figure) { return std::abs(table - figure.get<double>()) <= 0.01 * table; };
    for (const auto& [rates, key] : {std::pair(&device.bf16, "bf16"), std::pair(&device.fp32, "fp32")}) {
      CAPTURE(name, key);
      CHECK(close(rates->gemm_flops_per_s, measured.at(key).at("gemm_flops_per_s")));
      CHECK(close(rates->attention_flops_per_s, measured.at(key).at("attention_flops_per_s")));
      CHECK(close(rates->memory_bytes_per_s, measured.at("memory_bytes_per_s")));
      CHECK(close(rates->launch_s, measured.at("launch_s")));
    }
  }
  const auto h200 = nlohmann::json::parse(read_file(std::string(TRAINX_SOURCE_DIR) + "/bench/results/h200/rates.json"));
  CHECK(std::abs(plan::device_named("h200").tf32.gemm_flops_per_s / h200.at("tf32").at("gemm_flops_per_s").get<double>() - 1) < 0.01);
  CHECK_THROWS_AS(plan::device_named("h300"), UserError);
}

TEST_CASE("what a kernel takes beyond its work is the median over the measured small matrix products") {
  const auto device = plan::device_named("h200");
  const auto measured = nlohmann::json::parse(read_file(std::string(TRAINX_SOURCE_DIR) + "/bench/results/h200/gemm.json"));
  std::vector<double> beyond;
  for (const auto& [machine, products] : measured.items())
    for (const auto& [problem, choice] : products.items()) {
      double m = 0, n = 0, k = 0;
      REQUIRE(std::sscanf(problem.c_str(), "m %lf n %lf k %lf", &m, &n, &k) == 3);
      const double ideal_s = 2 * m * n * k / device.bf16.gemm_flops_per_s;
      if (ideal_s < 40e-6 && problem.find("gelu") == std::string::npos) beyond.push_back(choice.at("chosen_ms").get<double>() / 1e3 - ideal_s);
    }
  REQUIRE(beyond.size() > 10);
  std::ranges::sort(beyond);
  const double median = beyond.size() % 2 ? beyond[beyond.size() / 2] : (beyond[beyond.size() / 2 - 1] + beyond[beyond.size() / 2]) / 2;
  CHECK(std::abs(device.bf16.kernel_s / median - 1) < 0.01);
}
