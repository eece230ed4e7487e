#include "hardware/estimate.hpp"
#include "hardware/gpus.hpp"
#include "hardware/hopper.hpp"

namespace trainx::hardware {
namespace {

// Of the H200's data sheet, with PCIe 5 and NVLink 4.
constexpr double h200_memory_bytes_per_s = 4.8e12;

struct Shares {
  double flops = 0;   // of the H200's peak in this type
  double memory = 0;  // of its data sheet's memory rate
  double host = 0;    // of its PCIe link
};

program::Rates scaled(program::Rates rates, const Shares& share, int multiprocessors) {
  rates.source = "data sheets, by the shares measured on an H200";
  for (double* flops :
       {&rates.gemm_flops_per_s, &rates.attention_flops_per_s, &rates.tiles.flops_per_s,
        &rates.tiles.sustained_flops_per_s, &rates.plain_attention_flops_per_s,
        &rates.own_attention_flops_per_s, &rates.heads_of_64.flops_per_s,
        &rates.heads_of_128.flops_per_s, &rates.hopper_heads_of_64.flops_per_s,
        &rates.hopper_heads_of_128.flops_per_s, &rates.experts_flops_per_s,
        &rates.hopper_experts_flops_per_s})
    *flops *= share.flops;
  rates.memory_bytes_per_s *= share.memory;
  rates.tiles.memory_bytes_per_s *= share.memory;
  rates.host_bytes_per_s *= share.host;
  if (rates.tiles.multiprocessors > 0) {
    rates.attention_fill_rows *= static_cast<double>(multiprocessors) / rates.tiles.multiprocessors;
    rates.tiles.multiprocessors = multiprocessors;
  }
  return rates;
}

ElementTimes scaled(ElementTimes times, double by) {
  return {times.fp32 * by, times.split * by, times.beside_fp32 * by};
}

}  // namespace

Hardware estimate(const Generation& generation, const DataSheet& gpu) {
  static const Hardware measured = h200();
  const double clocks = gpu.multiprocessors * gpu.clock_hz, bf16 = gpu.tensor_flops * clocks,
               fp32 = 2.0 * generation.cores * clocks;
  const double tf32 = generation.has_bf16_and_tf32 ? bf16 / 2 : 0;
  const double memory = gpu.memory_bytes_per_s / h200_memory_bytes_per_s,
               host = gpu.host_bytes_per_s / pcie5_bytes_per_s;
  const auto rates = [&](const program::Rates& r, double peak, double measured_peak) {
    program::Rates out = scaled(r, {peak / measured_peak, memory, host}, gpu.multiprocessors);
    out.name = std::string(gpu.name) + r.name.substr(r.name.find(','));
    return out;
  };
  Hardware out;
  out.name = gpu.name;
  out.is_estimated = true;
  out.compute_capability = generation.compute_capability;
  out.memory_bytes = usable_bytes(gpu.memory_mib << 20);
  out.bf16 = rates(measured.bf16, bf16, measured.bf16_peak_flops);
  out.bf16.tiles.choices = generation.products_of_16_bits;
  if (tf32 > 0) out.tf32 = rates(measured.tf32, tf32, measured.tf32_peak_flops);
  out.fp32 = rates(measured.fp32, fp32, measured.fp32_peak_flops);
  out.host_kernel_s = measured.host_kernel_s;
  // kernels that compute longer than memory takes, with fp32's units
  const double slower = measured.fp32_peak_flops / fp32;
  out.adamw_8bit = scaled(measured.adamw_8bit, slower);
  out.adafactor = scaled(measured.adafactor, slower);
  const double link = gpu.link_bytes_per_s / nvlink4_data_sheet_bytes_per_s;
  out.link_bytes_per_s = measured.link_bytes_per_s * link;
  out.link_copy_bytes_per_s = measured.link_copy_bytes_per_s * link;
  out.network_bytes_per_s = generation.network_bytes_per_s;
  out.bf16_peak_flops = bf16, out.tf32_peak_flops = tf32, out.fp32_peak_flops = fp32;
  return out;
}

}  // namespace trainx::hardware
