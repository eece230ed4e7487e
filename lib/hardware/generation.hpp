// What data sheets say of GPUs: of a generation, and of the GPUs in it. A file a generation.
#pragma once
#include "program/tiles.hpp"
#include <cstdint>
#include <span>
#include <string_view>

namespace trainx::hardware {

struct DataSheet {
  std::string_view name;        // as --gpu takes it
  std::int64_t memory_mib = 0;  // as NVML tells it
  int multiprocessors = 0;
  double clock_hz = 0;      // boost
  double tensor_flops = 0;  // 16 bits, summed in fp32, dense; of a multiprocessor in a clock
  double memory_bytes_per_s = 0;
  double watts = 0;               // that the GPU may take
  double host_bytes_per_s = 0;    // each way
  double nvlink_bytes_per_s = 0;  // to other GPUs of the node, each way; 0: it has none
  // so many GPUs a bridge of NVLink joins, which is bought beside them; 0: switches join all
  int bridged = 0;
  bool reaches_by_pcie = true;  // other GPUs' memory, over PCI Express
};

struct Generation {
  std::string_view name;
  int compute_capability = 0;  // 89: 8.9
  int cores = 0;               // of a multiprocessor, as NVML counts: an fp32 FMA each clock
  bool has_bf16_and_tf32 = true;
  const program::TileChoices* products_of_16_bits = nullptr;
  std::span<const DataSheet> gpus;
  // of a GPU that is not among them, beside what NVML tells: the slower of the generation's
  DataSheet typical;
  // of the network between nodes, for each GPU, each way: of NVIDIA's own nodes; of cards for
  // workstations an adapter of 25 Gbit/s
  double network_bytes_per_s = 3.125e9;
  // of the tensor cores' peak, what products in 16 bits would reach on tiles so large that loading
  // operands is nothing (program::TileRates), while power does not hold the clock back
  double tensor_share = 850e12 / 989.4e12;
  // what the power limit allows of products in 16 bits, in FLOPs a joule; 0: it does not hold them
  double tensor_flops_per_joule = 666.5e12 / 700;
  // of products in fp8 that the power limit holds down, over those in 16 bits; 0: as on Hopper
  double held_fp8_speedup = 0;
  // of predicted tokens per second, the largest error against published ones that count
  // (bench/results/published.md); 0: never compared
  double published_error = 0;
};

const Generation& kepler();
const Generation& volta();
const Generation& turing();
const Generation& ampere();
const Generation& ampere_ga10x();
const Generation& ada();
const Generation& hopper();
const Generation& blackwell();
const Generation& blackwell_geforce();

// PCI Express x16, each way, after encoding.
constexpr double pcie3_bytes_per_s = 15.75e9, pcie4_bytes_per_s = 31.5e9,
                 pcie5_bytes_per_s = 63.0e9;

}  // namespace trainx::hardware
