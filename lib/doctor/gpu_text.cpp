#include "core/units.hpp"
#include "doctor/gpus.hpp"
#include <algorithm>
#include <cmath>
#include <map>

namespace trainx::doctor {

using namespace facts;
namespace {

/// "1980 of 1980 MHz"; of two numbers what is known.
std::string of_most(const std::optional<std::int64_t>& now, const std::optional<std::int64_t>& most,
                    const std::string& unit) {
  if (!now) return {};
  return std::to_string(*now) + (most ? " of " + std::to_string(*most) : "") + unit;
}

std::optional<std::int64_t> rounded(const std::optional<double>& x) {
  return x ? std::optional<std::int64_t>(std::llround(*x)) : std::nullopt;
}

std::string yes(const std::optional<bool>& has, const char* name) {
  return has ? std::string(*has ? "" : "no ") + name : std::string();
}

std::string memory_words(const GpuFacts& gpu) {
  return gpu.memory_bytes ? human_bytes(gpu.memory_used_bytes.value_or(0)) + " of " +
                                human_bytes(*gpu.memory_bytes) + " used"
                          : "";
}

std::string link_words(const PcieFacts& p) {
  if (!p.generation || !p.width) return {};
  std::string most;
  if (p.most_generation && p.most_width &&
      (p.generation != p.most_generation || p.width != p.most_width))
    most = " (at most " + std::to_string(*p.most_generation) + " x" +
           std::to_string(*p.most_width) + ")";
  return "PCIe " + std::to_string(*p.generation) + " x" + std::to_string(*p.width) + most;
}

std::string ecc_words(const GpuFacts& gpu) {
  if (!gpu.ecc) return {};
  if (!*gpu.ecc) return "ECC off";
  const MemoryErrors& errors = gpu.memory_errors;
  if (!errors.uncorrected) return "ECC on";
  return "ECC " + counted(*errors.uncorrected, "uncorrected error") +
         (errors.corrected.value_or(0) > 0
              ? " (" + std::to_string(*errors.corrected) + " corrected)"
              : "");
}

std::string nvlink_words(const NvlinkFacts& links) {
  std::string text =
      counted(links.active, "NVLink") +
      (links.inactive > 0 ? " of " + std::to_string(links.active + links.inactive) : "");
  if (links.bytes_per_second)
    text += " of " + std::to_string(std::llround(*links.bytes_per_second / 1e9)) + " GB/s";
  std::map<std::string, std::int64_t> ends;
  for (const std::string& peer : links.peers) ++ends[peer];
  std::vector<std::string> to;
  if (links.to_switches > 0) to.push_back(std::to_string(links.to_switches) + " to switches");
  for (const auto& [peer, count] : ends) to.push_back(std::to_string(count) + " to " + peer);
  return text + (to.empty() ? "" : ": " + joined(to));
}

void describe_gpu(const GpuFacts& gpu, std::size_t i, Lines& lines) {
  std::string capability;
  if (gpu.compute_capability)
    capability = "compute capability " + std::to_string(*gpu.compute_capability / 10) + "." +
                 std::to_string(*gpu.compute_capability % 10);
  lines.push_back(std::to_string(i) + ": " +
                  joined({gpu.name, gpu.address.value_or(""), memory_words(gpu), capability,
                          yes(gpu.bf16(), "bf16"), yes(gpu.fp8(), "fp8"),
                          gpu.rates ? "plans by " + *gpu.rates + " rates" : ""}));
  std::vector<std::string> limits;
  for (const ClockLimit limit : gpu.clock_limits) limits.emplace_back(name_of(limit));
  const std::string now = joined({of_most(gpu.clock_mhz, gpu.most_clock_mhz, " MHz"),
                                  of_most(rounded(gpu.watts), rounded(gpu.most_watts), " W"),
                                  gpu.celsius ? std::to_string(*gpu.celsius) + " C" : "",
                                  limits.empty() ? "" : "held down by: " + joined(limits)});
  const std::string ways = joined(
      {link_words(gpu.pcie), gpu.numa_node ? "NUMA node " + std::to_string(*gpu.numa_node) : "",
       ecc_words(gpu),
       gpu.compute_mode && *gpu.compute_mode != "default" ? "compute mode " + *gpu.compute_mode
                                                          : "",
       gpu.mig.value_or(false) ? "MIG" : "", gpu.nvlink ? nvlink_words(*gpu.nvlink) : ""});
  for (const std::string& line : {now, ways})
    if (!line.empty()) lines.push_back("   " + line);
  Lines reasons;
  add_unread(reasons, gpu.unread);
  for (const std::string& reason : reasons) lines.push_back("   " + reason);
}

std::string rate_words(double bytes_per_second) {
  return std::to_string(std::llround(bytes_per_second / 1e9)) + " GB/s";
}
std::string latency_words(double seconds) {
  return std::to_string(std::llround(seconds * 1e6)) + " us";
}

/// A line for each GPU, for each direction of each pair, and for the sum over all.
void describe_links(const LinkRates& links, const GpusFacts& facts, Lines& lines) {
  const auto place = [&](const std::string& address) {
    const auto at = std::ranges::find_if(
        facts.gpus, [&](const GpuFacts& gpu) { return gpu.address == address; });
    return at == facts.gpus.end() ? address : std::to_string(at - facts.gpus.begin());
  };
  for (const HostLinkRate& host : links.hosts)
    lines.push_back("measured, host to " + place(host.gpu) + ": " +
                    rate_words(host.to_gpu_bytes_per_second) +
                    ", back: " + rate_words(host.to_host_bytes_per_second));
  for (const PairLinkRate& pair : links.pairs) {
    const std::string staged = rate_words(pair.staged_bytes_per_second);
    lines.push_back("measured, " + place(pair.from) + " to " + place(pair.to) + ": " +
                    (pair.direct_bytes_per_second ? rate_words(*pair.direct_bytes_per_second) +
                                                        ", without peer access " + staged
                                                  : staged) +
                    ", a few bytes in " + latency_words(pair.latency_seconds));
  }
  if (links.sum)
    lines.push_back("measured, sums over " + std::to_string(links.sum->gpus) +
                    " GPUs: each sends " + rate_words(links.sum->bytes_per_second) +
                    ", a few bytes in " + latency_words(links.sum->latency_seconds));
  if (!links.sum_problem.empty())
    lines.push_back("sums over the GPUs could not be measured: " + links.sum_problem);
}

}  // namespace

Lines describe(const GpusFacts& facts) {
  if (facts.gpus.empty()) {
    Lines lines{facts.presence.any()
                    ? "none that can be used" +
                          (facts.driver_problem.empty() ? "" : ": " + facts.driver_problem)
                    : "none: trains on the CPU"};
    add_unread(lines, facts.unread);
    return lines;
  }
  Lines lines{joined({facts.driver ? "driver " + *facts.driver : "",
                      facts.cuda ? "for CUDA " + std::to_string(*facts.cuda / 1000) + "." +
                                       std::to_string(*facts.cuda % 1000 / 10)
                                 : "",
                      facts.visible ? "CUDA_VISIBLE_DEVICES=" + *facts.visible : ""})};
  for (std::size_t i = 0; i < facts.gpus.size(); ++i) describe_gpu(facts.gpus[i], i, lines);
  for (const GpuPairFacts& pair : facts.pairs)
    lines.push_back(std::to_string(pair.first) + "-" + std::to_string(pair.second) + ": " +
                    joined({pair.nvlinks > 0 ? counted(pair.nvlinks, "NVLink") : "",
                            pair.path ? "PCIe: " + *pair.path : "",
                            pair.peer_access ? "peer access " + *pair.peer_access : ""}));
  if (facts.links) describe_links(*facts.links, facts, lines);
  for (const LostGpu& gpu : facts.lost)
    lines.push_back(std::to_string(gpu.index) + ": cannot be used: " + gpu.why);
  add_unread(lines, facts.unread);
  return lines;
}

}  // namespace trainx::doctor
