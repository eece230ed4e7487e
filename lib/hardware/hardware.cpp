#include "hardware/hardware.hpp"
#include "core/suggest.hpp"
#include "core/error.hpp"
#include "hardware/estimate.hpp"
#include "hardware/gpus.hpp"
#include <algorithm>
#include <cmath>

namespace trainx::hardware {
namespace {

struct MeasuredGpu {
  Hardware hardware;
  int cores;
  double clock_hz;  // the highest, as NVML tells it
};

const std::vector<MeasuredGpu>& all_measured() {
  static const std::vector<MeasuredGpu> list{{h100(), 132 * 128, 1.980e9},
                                             {h200(), 132 * 128, 1.980e9}};
  return list;
}

// By capability, ascending.
const std::vector<const Generation*>& all_generations() {
  static const std::vector<const Generation*> list{
      &kepler(), &volta(),  &turing(),    &ampere(),           &ampere_ga10x(),
      &ada(),    &hopper(), &blackwell(), &blackwell_geforce()};
  return list;
}

/// Whether it may be the number, which NVML may not tell.
bool agrees(double told, double known, double by) {
  return told == 0 || std::abs(told - known) < by * known;
}

/// Of that capability, or else the newest before it.
const Generation& generation_of(int compute_capability) {
  const Generation* found = all_generations().front();
  for (const Generation* g : all_generations())
    if (g->compute_capability <= compute_capability) found = g;
  return *found;
}

/// The data sheet that what NVML tells agrees with, else the generation's slowest.
DataSheet sheet_of(const Generation& generation, const NvmlFacts& told) {
  for (const DataSheet& gpu : generation.gpus)
    if (generation.compute_capability == told.compute_capability &&
        agrees(static_cast<double>(told.memory_bytes), static_cast<double>(gpu.memory_mib << 20),
               0.02) &&
        agrees(told.cores, gpu.multiprocessors * generation.cores, 0.001))
      return gpu;
  DataSheet gpu = generation.typical;
  gpu.name = generation.name;
  // consumer GPUs do not hold the highest clock under load
  if (told.clock_hz > 0) gpu.clock_hz = std::min(told.clock_hz, gpu.clock_hz);
  return gpu;
}

}  // namespace

std::optional<Hardware> find_hardware(const NvmlFacts& told) {
  if (told.compute_capability <= 0 || told.memory_bytes <= 0) return std::nullopt;
  for (const MeasuredGpu& gpu : all_measured())
    if (gpu.hardware.compute_capability == told.compute_capability &&
        agrees(static_cast<double>(told.memory_bytes),
               static_cast<double>(gpu.hardware.memory_bytes), 0.02) &&
        agrees(told.cores, gpu.cores, 0.001) && agrees(told.clock_hz, gpu.clock_hz, 0.03))
      return gpu.hardware;
  const Generation& generation = generation_of(told.compute_capability);
  DataSheet gpu = sheet_of(generation, told);
  if (told.cores > 0) gpu.multiprocessors = std::max(1, told.cores / generation.cores);
  if (told.memory_bytes_per_s > 0) gpu.memory_bytes_per_s = told.memory_bytes_per_s;
  Hardware found = estimate(generation, gpu);
  found.compute_capability = told.compute_capability;
  found.memory_bytes = usable_bytes(told.memory_bytes);
  return found;
}

std::vector<std::string> hardware_names() {
  std::vector<std::string> names;
  for (const MeasuredGpu& gpu : all_measured()) names.push_back(gpu.hardware.name);
  for (const Generation* g : all_generations())
    for (const DataSheet& gpu : g->gpus) names.emplace_back(gpu.name);
  std::ranges::sort(names);
  return names;
}

Hardware hardware_named(std::string_view name) {
  for (const MeasuredGpu& gpu : all_measured())
    if (gpu.hardware.name == name) return gpu.hardware;
  for (const Generation* g : all_generations())
    for (const DataSheet& gpu : g->gpus)
      if (gpu.name == name) return estimate(*g, gpu);
  const std::vector<std::string> names = hardware_names();
  std::string known;
  for (const std::string& other : names) known += (known.empty() ? "" : ", ") + other;
  throw UserError(ExitCode::usage, "--gpu: '" + std::string(name) + "' is not known" +
                                       did_you_mean(name, names) + "; known are: " + known);
}

std::int64_t usable_bytes(std::int64_t memory_bytes) {
  constexpr std::int64_t most_kept = 900LL << 20;
  return memory_bytes - std::min(memory_bytes * 15 / 1000, most_kept);
}

// context: what the driver counts beyond what was allocated, 564 to 579 MB in
// tests/data/measured/h200/steps.jsonl. communicator: of 16 CTAs, between two H200; of 32, between
// two H100.
const ProcessBytes& process_bytes() {
  static constexpr ProcessBytes bytes{575'000'000, 73'000'000, 140'000'000, 700'000'000,
                                      200'000'000};
  return bytes;
}

}  // namespace trainx::hardware
