#include "plan/rates.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include <cmath>
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
  CHECK_THROWS_AS(plan::device_named("h300"), UserError);
}
