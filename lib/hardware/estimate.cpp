#include "hardware/estimate.hpp"
#include "hardware/gpus.hpp"
#include "hardware/hopper.hpp"
#include <algorithm>

namespace trainx::hardware {
namespace {

// Of the H200's data sheet, with PCIe 5.
constexpr double h200_memory_bytes_per_s = 4.8e12;

struct Shares {
  double unheld = 0;  // of the H200's products on tiles whose speed no power limit holds down
  double flops = 0;   // of all else that it computes in this type
  double memory = 0;  // of its data sheet's memory rate
  double host = 0;    // of its PCIe link
};

program::Rates scaled(program::Rates rates, const Shares& share, int multiprocessors) {
  rates.source = "data sheets, by the shares measured on an H200";
  rates.tiles.flops_per_s *= share.unheld;
  for (double* flops :
       {&rates.gemm_flops_per_s, &rates.attention_flops_per_s, &rates.tiles.sustained_flops_per_s,
        &rates.plain_attention_flops_per_s, &rates.own_attention_flops_per_s,
        &rates.heads_of_64.flops_per_s, &rates.heads_of_128.flops_per_s,
        &rates.hopper_heads_of_64.flops_per_s, &rates.hopper_heads_of_128.flops_per_s,
        &rates.experts_flops_per_s, &rates.hopper_experts_flops_per_s})
    *flops *= share.flops;
  rates.memory_bytes_per_s *= share.memory;
  rates.tiles.memory_bytes_per_s *= share.memory;
  rates.host_bytes_per_s *= share.host;
  if (rates.tiles.multiprocessors > 0) {
    rates.attention_fill_rows *= static_cast<double>(multiprocessors) / rates.tiles.multiprocessors;
    rates.tiles.multiprocessors = multiprocessors;
    rates.tiles.are_measured = false;
  }
  return rates;
}

ElementTimes scaled(ElementTimes times, double by) {
  return {times.fp32 * by, times.split * by, times.beside_fp32 * by};
}

}  // namespace

Hardware estimate(const Generation& generation, const DataSheet& gpu) {
  static const Hardware measured = h200();
  const program::TileRates& tiles = measured.bf16.tiles;
  const double clocks = gpu.multiprocessors * gpu.clock_hz, peak = gpu.tensor_flops * clocks,
               fp32 = 2.0 * generation.cores * clocks;
  const double tf32 = generation.has_bf16_and_tf32 ? peak / 2 : 0;
  const double memory = gpu.memory_bytes_per_s / h200_memory_bytes_per_s,
               host = gpu.host_bytes_per_s / pcie5_bytes_per_s;
  // products of tensor cores: on tiles so large that loading operands is nothing, what the power
  // limit allows, and what all of them together reach
  const double unheld = peak * generation.tensor_share,
               held = generation.tensor_flops_per_joule * gpu.watts, most = std::min(unheld, peak),
               sustained = held > 0 ? std::min(most, held) : most;
  const Shares tensor{unheld / tiles.flops_per_s, sustained / tiles.sustained_flops_per_s, memory,
                      host};
  const double of_fp32 = fp32 / measured.fp32_peak_flops;
  const auto rates = [&](const program::Rates& r, const Shares& share) {
    program::Rates out = scaled(r, share, gpu.multiprocessors);
    out.name = std::string(gpu.name) + r.name.substr(r.name.find(','));
    return out;
  };
  Hardware out;
  out.name = gpu.name;
  out.is_estimated = true;
  out.published_error = generation.published_error;
  out.compute_capability = generation.compute_capability;
  out.memory_bytes = usable_bytes(gpu.memory_mib << 20);
  out.bf16 = rates(measured.bf16, tensor);
  out.bf16.tiles.choices = generation.products_of_16_bits;
  if (generation.held_fp8_speedup > 0 && sustained < most)
    out.bf16.fp8_speedup = generation.held_fp8_speedup;
  if (tf32 > 0) out.tf32 = rates(measured.tf32, tensor);
  out.fp32 = rates(measured.fp32, {of_fp32, of_fp32, memory, host});
  out.host_kernel_s = measured.host_kernel_s;
  // kernels that compute longer than memory takes, with fp32's units
  out.adamw_8bit = scaled(measured.adamw_8bit, 1 / of_fp32);
  out.adafactor = scaled(measured.adafactor, 1 / of_fp32);
  out.links = {gpu.nvlink_bytes_per_s, gpu.bridged,
               std::min(gpu.host_bytes_per_s, pcie5_bytes_per_s), gpu.reaches_by_pcie};
  out.network_bytes_per_s = generation.network_bytes_per_s;
  out.bf16_peak_flops = peak, out.tf32_peak_flops = tf32, out.fp32_peak_flops = fp32;
  return out;
}

}  // namespace trainx::hardware
