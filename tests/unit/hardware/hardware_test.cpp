// GPUs are chosen by what NVML says, not by what they are called.
#include "core/error.hpp"
#include "hardware/hardware.hpp"
#include "support/catch.hpp"

using namespace trainx;
using namespace trainx::hardware;

TEST_CASE("a GPU is found by its capability and memory") {
  // as NVML tells of an H200 and of an H100 of 80 GB
  REQUIRE(find_hardware(90, 150754820096));
  CHECK(find_hardware(90, 150754820096)->name == "h200");
  REQUIRE(find_hardware(90, 85520809984));
  CHECK(find_hardware(90, 85520809984)->name == "h100");
  CHECK_FALSE(find_hardware(90, 100'000'000'000));  // another, or a part of one
  CHECK_FALSE(find_hardware(80, 85520809984));
  CHECK_FALSE(find_hardware(0, 0));
}

TEST_CASE("each GPU has a name of its own, a capability, memory and rates in 16 bits") {
  for (const std::string& name : hardware_names()) {
    INFO(name);
    const Hardware& h = hardware_named(name);
    CHECK(h.name == name);
    CHECK(find_hardware(h.compute_capability, h.memory_bytes) == &h);
    CHECK(h.bf16.gemm_flops_per_s > 0);
    CHECK(h.bf16.tiles.choices != nullptr);
    CHECK(h.bf16.gemm_flops_per_s < h.bf16_peak_flops);
  }
  CHECK_THROWS_AS(hardware_named("h300"), UserError);
}
