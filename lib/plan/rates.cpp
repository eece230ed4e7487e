#include "plan/rates.hpp"
#include "core/error.hpp"
#include <cctype>

namespace trainx::plan {

namespace {

// kernel_s: the median of what matrix products of less than 40 us take beyond their FLOPs, of
// bench/results/<name>/gemm.json. The others are copied from bench/results/<name>/rates.json, which
// bench/device/rates.py wrote on such a machine: sustained for seconds, at the power limit.
// sustained: the median rate of the products of more than 300 us in bench/results/h200/gemm.json.
// flops_per_s and edge: those with the smallest mean error over all of its products
// (tests/unit/plan/rates_test.cpp). The shares of rows off 16 bytes, and attention without fused
// kernels: medians of bench/results/h200/dimensions.json. Attention in fp32 and tf32 on an H200,
// own kernels: those that two sizes of bench/results/h200/attention.json ask for, 1 and 4 samples
// of 512 tokens. adamw_8bit and adafactor, for an element: what their updates take in steps of
// bench/results/h200/guides/rows. Of the others there the norm and the update stream 3.69e12
// bytes/s, which is not used: bf16's products of 2048 rows and what lies between them are predicted
// as much too long, since their tiles' rates were measured at the power limit. To launch a kernel:
// what steps of BERT-large with one sample take that are launched one by one
// (bench/results/h200/predictions.json), with SGD.
constexpr double h200_kernel_s = 2.36e-6;
constexpr program::TileRates h200_tiles{
    132, 850e12, 20, 666.5e12, 0.384, 0.242, 4.381e12, program::TileKernels::hopper, h200_kernel_s};
// Of fp32 and tf32: those with the smallest mean error over the products of
// bench/results/h200/guides/rows (guides_rates_test), whose times hold 2.7 us of the profiler's
// each. fp32 is not held down by the power limit: with these the series of products of rates.json
// takes what was measured to 4 %. tf32's limit is what products of a forward reached in a step that
// took 670 of 700 W; products alone, held down by the limit, take longer (gemm_flops_per_s).
constexpr program::TileRates h200_fp32_tiles{
    132, 64e12, 24, 64e12, 1, 1, 4.381e12, program::TileKernels::fp32, h200_kernel_s};
constexpr program::TileRates h200_tf32_tiles{
    132, 420e12, 20, 320e12, 1, 1, 4.381e12, program::TileKernels::fp32, h200_kernel_s, 0.7};

constexpr program::TileRates with_memory(program::TileRates tiles, double bytes_per_s) {
  tiles.memory_bytes_per_s = bytes_per_s;
  return tiles;
}

// An H100 SXM has the H200's multiprocessors and library (GH100, 132 of compute capability 9.0), so
// that its products have the same tiles. Only its memory is slower.
constexpr program::TileRates h100_tiles = with_memory(h200_tiles, 3.041e12),
                             h100_fp32_tiles = with_memory(h200_fp32_tiles, 3.041e12);

// NVLink 4: 900 GB/s in both directions together (NVIDIA's data sheets of H100 SXM and H200).
constexpr double nvlink4_bytes_per_s = 450e9;

const std::vector<Device>& devices() {
  static const std::vector<Device> all{
      {"h100",
       85017493504,
       {"H100, bf16", "bench/results/h100/rates.json", 624.7e12, 250.4e12, 3.041e12, 0, 0, 0,
        1.0e-6, h200_kernel_s, h100_tiles, 16.8e12},
       {"H100, tf32", "bench/results/h100/rates.json", 0, 28.96e12, 3.041e12, 0, 0, 0, 1.0e-6},
       {"H100, fp32", "bench/results/h100/rates.json", 50.6e12, 28.96e12, 3.041e12, 0, 0, 0, 1.0e-6,
        h200_kernel_s, h100_fp32_tiles},
       0,
       {},
       {},
       nvlink4_bytes_per_s,
       989.4e12,
       494.7e12,
       66.9e12},
      {"h200",
       150109880320,
       {"H200, bf16", "bench/results/h200/rates.json", 617.3e12, 263.0e12, 4.381e12, 52.6e9, 0, 0,
        0.91e-6, h200_kernel_s, h200_tiles, 16.8e12},
       {"H200, tf32", "bench/results/h200/rates.json", 233.8e12, 101.9e12, 4.381e12, 52.6e9, 0, 0,
        0.91e-6, h200_kernel_s, h200_tf32_tiles, 0, 0, 0, 8330},
       {"H200, fp32", "bench/results/h200/rates.json", 50.1e12, 47.0e12, 4.381e12, 52.6e9, 0, 0,
        0.91e-6, h200_kernel_s, h200_fp32_tiles, 0, 0, 0, 3490},
       9.6e-6,
       {9.77e-12, 15.2e-12, 12.0e-12},
       {13.5e-12, 14.0e-12, 13.9e-12},
       nvlink4_bytes_per_s,
       989.4e12,
       494.7e12,
       66.9e12},
  };
  return all;
}

}  // namespace

const Device* device_called(const std::string& gpu) {
  for (const Device& d : devices()) {
    std::string name = d.name;  // "h200": "NVIDIA H200", "NVIDIA H200 SXM"
    for (char& c : name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    if (gpu.find(name) != std::string::npos) return &d;
  }
  return nullptr;
}

std::vector<std::string> device_names() {
  std::vector<std::string> names;
  for (const Device& d : devices()) names.push_back(d.name);
  return names;
}

const Device& device_named(std::string_view name) {
  std::string known;
  for (const Device& d : devices()) {
    if (d.name == name) return d;
    known += (known.empty() ? "" : ", ") + d.name;
  }
  throw UserError(ExitCode::usage, "--gpu: no measured rates for '" + std::string(name) +
                                       "'; there are rates for: " + known);
}

}  // namespace trainx::plan
