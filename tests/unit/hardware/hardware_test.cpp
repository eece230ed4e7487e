// GPUs are chosen by what NVML says, not by what they are called.
#include "core/error.hpp"
#include "hardware/generation.hpp"
#include "hardware/hardware.hpp"
#include "program/time.hpp"
#include "support/catch.hpp"
#include <algorithm>
#include <array>
#include <cmath>

namespace hardware_test {

using namespace trainx;
using namespace trainx::hardware;

namespace {

// as NVML tells of an H200 and of an H100 of 80 GB
constexpr std::int64_t h200_bytes = 150754820096, h100_bytes = 85520809984;
constexpr std::int64_t mib = 1 << 20;

}  // namespace

TEST_CASE("a measured GPU is found by its capability and memory") {
  for (const auto& [bytes, name] : {std::pair(h200_bytes, "h200"), std::pair(h100_bytes, "h100")}) {
    for (const NvmlFacts& told :
         {NvmlFacts{90, bytes}, NvmlFacts{90, bytes, 132 * 128, 1.980e9, 4.9e12}}) {
      const auto found = find_hardware(told);
      REQUIRE(found);
      CHECK(found->name == name);
      CHECK_FALSE(found->is_estimated);
      CHECK(found->memory_bytes == hardware_named(name).memory_bytes);
    }
  }
}

TEST_CASE("with other multiprocessors, clocks, memory or capability it is another GPU") {
  for (const NvmlFacts& told : {NvmlFacts{90, h100_bytes, 114 * 128, 1.755e9},
                                NvmlFacts{90, h200_bytes, 132 * 128, 1.785e9},
                                NvmlFacts{90, 100'000'000'000}, NvmlFacts{80, h100_bytes}}) {
    CAPTURE(told.compute_capability, told.memory_bytes, told.cores);
    const auto found = find_hardware(told);
    REQUIRE(found);
    CHECK(found->is_estimated);
    CHECK(found->compute_capability == told.compute_capability);
    CHECK(found->memory_bytes == usable_bytes(told.memory_bytes));
  }
  CHECK_FALSE(find_hardware({0, h100_bytes}));
  CHECK_FALSE(find_hardware({90, 0}));
}

TEST_CASE("each name is of one GPU, which is found again by what NVML tells of it") {
  for (const std::string& name : hardware_names()) {
    INFO(name);
    const Hardware h = hardware_named(name);
    CHECK(h.name == name);
    CHECK(std::ranges::count(hardware_names(), name) == 1);
    CHECK(h.bf16.gemm_flops_per_s > 0);
    CHECK(h.bf16.gemm_flops_per_s < h.bf16_peak_flops);
    CHECK(h.bf16.tiles.choices != nullptr);
    CHECK(h.bf16.tiles.multiprocessors > 0);
    CHECK(h.bf16.tiles.share_of_2 < 1);
    CHECK(h.fp32.gemm_flops_per_s < h.fp32_peak_flops);
    CHECK((h.compute_capability < 80) == (h.tf32_peak_flops == 0));
  }
  for (const Generation* g : {&kepler(), &volta(), &turing(), &ampere(), &ampere_ga10x(), &ada(),
                              &hopper(), &blackwell(), &blackwell_geforce()})
    for (const DataSheet& gpu : g->gpus) {
      INFO(gpu.name);
      const auto found = find_hardware({g->compute_capability, gpu.memory_mib * mib,
                                        gpu.multiprocessors * g->cores, gpu.clock_hz});
      REQUIRE(found);
      CHECK(found->name == gpu.name);
      CHECK(found->is_estimated);
    }
  CHECK_THROWS_AS(hardware_named("h300"), UserError);
}

TEST_CASE("peaks of estimated GPUs are those of their data sheets") {
  struct Row {
    const char* name;
    double bf16, tf32, fp32;  // 1e12 a second
  };
  constexpr std::array<Row, 15> rows{{{"k80", 4.4, 0, 4.4},
                                      {"v100", 125, 0, 15.7},
                                      {"t4", 65, 0, 8.1},
                                      {"titanrtx", 130, 0, 16.3},
                                      {"a40", 149.7, 74.8, 37.4},
                                      {"rtxa6000", 154.8, 77.4, 38.7},
                                      {"rtx5060ti", 47.4, 23.7, 23.7},
                                      {"a100", 312, 156, 19.5},
                                      {"rtx3090", 71, 35.6, 35.6},
                                      {"a10", 125, 62.5, 31.2},
                                      {"rtx4090", 165.2, 82.6, 82.6},
                                      {"l40s", 362, 183, 91.6},
                                      {"l4", 121, 60.5, 30.3},
                                      {"b200", 2250, 1125, 75},
                                      {"rtx5090", 209.5, 104.8, 104.8}}};
  for (const Row& row : rows) {
    INFO(row.name);
    const Hardware h = hardware_named(row.name);
    for (const auto& [got, want] :
         {std::pair(h.bf16_peak_flops, row.bf16), std::pair(h.tf32_peak_flops, row.tf32),
          std::pair(h.fp32_peak_flops, row.fp32)})
      if (!(want == 0 ? got == 0 : std::abs(got / 1e12 / want - 1) < 0.07))
        FAIL(got / 1e12 << " in place of " << want);
  }
}

TEST_CASE("a power limit holds the products of cards down that could compute more") {
  // as many FLOPs a clock and a multiprocessor, half of the watts
  const Hardware l40s = hardware_named("l40s"), l4 = hardware_named("l4"),
                 rtx4090 = hardware_named("rtx4090");
  for (const Hardware* h : {&l40s, &l4})
    CHECK(h->bf16.tiles.sustained_flops_per_s < 0.7 * h->bf16.tiles.flops_per_s);
  CHECK(std::abs(rtx4090.bf16.tiles.sustained_flops_per_s / rtx4090.bf16_peak_flops - 1) < 1e-9);
  for (const std::string& name : hardware_names()) {
    INFO(name);
    const Hardware h = hardware_named(name);
    CHECK(h.bf16.tiles.sustained_flops_per_s < 1.000001 * h.bf16.tiles.flops_per_s);
    CHECK(h.bf16.tiles.are_measured == !h.is_estimated);
  }
}

TEST_CASE("an unknown GPU has its generation's rates and NVML's numbers") {
  // half of an RTX 4090
  const auto half = find_hardware({89, 12282 * mib, 64 * 128, 2.520e9, 504e9});
  const Hardware whole = hardware_named("rtx4090");
  REQUIRE(half);
  CHECK(half->is_estimated);
  CHECK(half->memory_bytes == usable_bytes(12282 * mib));
  CHECK(half->bf16.tiles.multiprocessors == 64);
  CHECK(std::abs(half->bf16.gemm_flops_per_s * 2 / whole.bf16.gemm_flops_per_s - 1) < 1e-9);
  CHECK(std::abs(half->bf16.memory_bytes_per_s * 2 / whole.bf16.memory_bytes_per_s - 1) < 1e-9);
  // a capability after those known here is planned as the newest before it
  const auto later = find_hardware({103, 275000 * mib, 160 * 128, 1.9e9, 8e12});
  REQUIRE(later);
  CHECK(later->compute_capability == 103);
  CHECK(later->bf16.tiles.multiprocessors == 160);
  CHECK(later->bf16_peak_flops > hardware_named("b200").bf16_peak_flops);
  // NVML tells no more than these: the generation's slowest
  const auto bare = find_hardware({86, 8192 * mib});
  REQUIRE(bare);
  CHECK(bare->bf16.gemm_flops_per_s > 0);
  CHECK(bare->bf16.gemm_flops_per_s <= hardware_named("rtx3090").bf16.gemm_flops_per_s);
}

TEST_CASE("the driver keeps a part of the memory, as it was measured or more") {
  CHECK(usable_bytes(h100_bytes) <= hardware_named("h100").memory_bytes);
  CHECK(usable_bytes(h200_bytes) <= hardware_named("h200").memory_bytes);
  CHECK(usable_bytes(h200_bytes) > h200_bytes * 99 / 100);
  CHECK(usable_bytes(24564 * mib) > 24564 * mib * 98 / 100);
}

}  // namespace hardware_test
