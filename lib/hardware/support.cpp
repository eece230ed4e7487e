#include "hardware/support.hpp"
#include "core/number.hpp"
#include <algorithm>
#include <vector>

namespace trainx::hardware {
namespace {

constexpr int oldest = 75;            // that CUDA 13 compiles for
constexpr int first_of_kernels = 80;  // cp.async and bf16 in mma.sync
constexpr const char* elsewhere = "set run.device to cpu, or run where a later GPU is";

/// One of CMake's list.
struct Architecture {
  int capability = 0;
  char variant = 0;  // 'a': of this capability alone, 'f': of its family
  bool has_code = true, has_ptx = true;
};

Architecture read_architecture(std::string_view text) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  Architecture a;
  a.capability = static_cast<int>(parse_integer(text.substr(0, digits)).value_or(0));
  text.remove_prefix(digits);
  if (!text.empty() && text.front() != '-') a.variant = text.front();
  a.has_code = !text.ends_with("-virtual");
  a.has_ptx = !text.ends_with("-real");
  return a;
}

std::vector<Architecture> read_architectures(std::string_view list) {
  std::vector<Architecture> all;
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(','), list.size());
    all.push_back(read_architecture(list.substr(0, end)));
    list.remove_prefix(std::min(list.size(), end + 1));
  }
  return all;
}

// Code runs on later GPUs of its major capability, PTX on all later ones (CUDA C++ Programming
// Guide, Binary Compatibility and PTX Compatibility).
bool runs_on(const Architecture& a, int capability) {
  if (a.variant == 'a') return capability == a.capability;
  const bool same_major = capability / 10 == a.capability / 10;
  if (capability < a.capability) return false;
  if (a.variant == 'f') return same_major;
  return a.has_ptx || (a.has_code && same_major);
}

std::string dotted(int capability) {
  return std::to_string(capability / 10) + "." + std::to_string(capability % 10);
}

std::string has_capability(std::string_view name, int capability) {
  return std::string(name) + " has compute capability " + dotted(capability) + ", and ";
}

}  // namespace

std::optional<Unsupported> why_never_supported(std::string_view name, int compute_capability) {
  if (compute_capability <= 0 || compute_capability >= first_of_kernels) return std::nullopt;
  const std::string has = has_capability(name, compute_capability);
  if (compute_capability < oldest)
    return Unsupported{has + "CUDA 13 compiles for 7.5 and later alone", elsewhere};
  return Unsupported{has + "kernels need " + dotted(first_of_kernels) + " or later", elsewhere};
}

std::string_view built_architectures() { return TRAINX_BUILT_ARCHITECTURES; }

std::optional<Unsupported> why_unsupported(std::string_view name, int compute_capability,
                                           std::string_view architectures) {
  const std::vector<Architecture> built = read_architectures(architectures);
  if (compute_capability <= 0 || built.empty()) return std::nullopt;
  if (auto never = why_never_supported(name, compute_capability);
      never && (compute_capability < oldest ||
                std::ranges::none_of(
                    built, [&](const Architecture& a) { return runs_on(a, compute_capability); })))
    return never;
  if (std::ranges::any_of(built,
                          [&](const Architecture& a) { return runs_on(a, compute_capability); }))
    return std::nullopt;
  std::string list;
  for (const Architecture& a : built) list += (list.empty() ? "" : ", ") + dotted(a.capability);
  return Unsupported{has_capability(name, compute_capability) + "this trainx was built for " + list,
                     "build it with -D TRAINX_CUDA_ARCHITECTURES=" +
                         std::to_string(compute_capability) + "-real, or set run.device to cpu"};
}

}  // namespace trainx::hardware
