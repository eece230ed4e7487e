#include "hardware/hopper.hpp"
#include "hardware/generation.hpp"
#include <array>

namespace trainx::hardware {

using program::Tile;

namespace {

// Those that cuBLASLt picks on Hopper: of the kernels in bench/results/h200/rows of commit b22f8ce1
// (nvjet_sm90_..._192x128_...: columns, rows).
constexpr std::array<Tile, 21> hopper_tile_list{
    {{128, 160}, {128, 128}, {128, 256}, {256, 128}, {96, 128},  {320, 128}, {128, 192},
     {192, 192}, {176, 128}, {96, 64},   {168, 128}, {64, 128},  {320, 64},  {192, 128},
     {256, 64},  {192, 96},  {64, 96},   {128, 64},  {144, 128}, {128, 96},  {192, 64}}};
constexpr std::array<int, 4> hopper_splits{1, 2, 4, 8};
// Tiles of the kernels in bench/results/h200/guides/rows of commit b22f8ce1
// (sm80_xmma_gemm_f32f32_..._tilesize256x128x8_..., split_k; sm90_xmma_gemm_f32f32_tf32f32_...).
constexpr std::array<Tile, 6> fp32_tile_list{
    {{64, 64}, {64, 128}, {128, 64}, {128, 128}, {256, 128}, {128, 256}}};
constexpr std::array<int, 8> fp32_splits{1, 2, 3, 4, 5, 6, 7, 8};

constexpr program::TileChoices choices{hopper_tile_list, hopper_splits, 512},
    fp32_choices{fp32_tile_list, fp32_splits, 256};

}  // namespace

// flops_per_s and edge: those with the smallest mean error over all products of
// tests/data/measured/h200/gemm.json (tests/unit/plan/rates_test.cpp). sustained: the median rate
// of its products of more than 300 us. The shares of rows off 16 bytes: medians of
// tests/data/measured/h200/dimensions.jsonl.
program::TileRates hopper_tiles(double memory_bytes_per_s) {
  return {132, 850e12, 20, 666.5e12, 0.384, 0.242, memory_bytes_per_s, &choices, hopper_kernel_s};
}

// fp32 and tf32: those with the smallest mean error over the products of
// tests/data/measured/h200/guides/steps.jsonl (guides_rates_test), whose times hold 2.7 us of the
// profiler's each. fp32 is not held down by the power limit: with these the series of products of
// rates.json takes what was measured to 4 %. tf32's limit is what products of a forward reached in
// a step that took 670 of 700 W; products alone, held down by the limit, take longer
// (gemm_flops_per_s).
program::TileRates hopper_fp32_tiles(double memory_bytes_per_s) {
  return {132, 64e12, 24, 64e12, 1, 1, memory_bytes_per_s, &fp32_choices, hopper_kernel_s};
}
program::TileRates hopper_tf32_tiles(double memory_bytes_per_s) {
  return {132, 420e12, 20, 320e12, 1, 1, memory_bytes_per_s, &fp32_choices, hopper_kernel_s, 0.7};
}

void add_hopper(Hardware& gpu) {
  gpu.bf16.heads_of_64 = cudnn_heads_of_64;
  gpu.bf16.heads_of_128 = cudnn_heads_of_128;
  gpu.bf16.hopper_heads_of_64 = hopper_heads_of_64;
  gpu.bf16.hopper_heads_of_128 = hopper_heads_of_128;
  gpu.bf16.experts_flops_per_s = portable_experts_flops;
  gpu.bf16.hopper_experts_flops_per_s = hopper_experts_flops;
  gpu.bf16.fp8_speedup = fp8_speedup_estimate;
  gpu.bf16.fp8_blocks_speedup = fp8_blocks_speedup_estimate;
  gpu.bf16.fp8_cast_s = fp8_cast_s;
  gpu.adamw_8bit = hopper_adamw_8bit;
  gpu.links = {.nvlink_bytes_per_s = nvlink4_bytes_per_s, .pcie_bytes_per_s = pcie5_bytes_per_s};
  gpu.network_bytes_per_s = dgx_h100_network_bytes_per_s;
  gpu.bf16_peak_flops = hopper_bf16_flops;
  gpu.tf32_peak_flops = hopper_tf32_flops;
  gpu.fp32_peak_flops = hopper_fp32_flops;
}

// Those beside the measured ones. Data sheets: NVIDIA H100 Tensor Core GPU (NVL 835e12 FLOPs per
// second in bf16 without sparsity, PCIe 756e12), NVIDIA GH200 Grace Hopper Superchip (as SXM),
// NVIDIA H200 (NVL 835e12). NVLink 4; bridges join two PCIe cards at 300e9 each way, or up to four
// H200 NVL at 450e9. A GH200's host is reached by NVLink-C2C.
const Generation& hopper() {
  static constexpr std::array<DataSheet, 4> gpus{
      {{"h100-nvl", 95830, 132, 1.545e9, 4096, 3.938e12, 400, pcie5_bytes_per_s, 300e9, 2},
       {"h100-pcie", 81559, 114, 1.620e9, 4096, 2.039e12, 350, pcie5_bytes_per_s, 300e9, 2},
       {"h200-nvl", 143771, 132, 1.545e9, 4096, 4.8e12, 600, pcie5_bytes_per_s, 450e9, 4},
       {"gh200", 97871, 132, 1.830e9, 4096, 4.0e12, 700, 450e9, 450e9}}};
  static constexpr Generation generation{.name = "Hopper",
                                         .compute_capability = 90,
                                         .cores = 128,
                                         .products_of_16_bits = &choices,
                                         .gpus = gpus,
                                         .typical = gpus[1],
                                         .network_bytes_per_s = dgx_h100_network_bytes_per_s};
  return generation;
}

}  // namespace trainx::hardware
