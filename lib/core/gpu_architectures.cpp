#include "core/gpu_architectures.hpp"
#include <algorithm>
#include <charconv>
#include <system_error>

// Of cmake/Layers.cmake; targets that compile this file without it have no kernels.
#ifndef TRAINX_CUDA_ARCHITECTURES
#define TRAINX_CUDA_ARCHITECTURES ""
#endif

namespace trainx {
namespace {

std::string capability_words(int capability) {
  return std::to_string(capability / 10) + "." + std::to_string(capability % 10);
}

}  // namespace

bool GpuArchitectures::run_on(int compute_capability) const {
  const auto runs = [&](int built) {
    return built / 10 == compute_capability / 10 && built <= compute_capability;
  };
  return std::any_of(code.begin(), code.end(), runs) ||
         (!ptx.empty() && ptx.front() <= compute_capability);
}

std::string GpuArchitectures::words() const {
  std::vector<int> all = code;
  all.insert(all.end(), ptx.begin(), ptx.end());
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  std::string words;
  for (const int capability : all)
    words += (words.empty() ? "" : ", ") + capability_words(capability);
  return ptx.empty() ? words : words + " and later";
}

GpuArchitectures read_gpu_architectures(std::string_view list) {
  GpuArchitectures architectures;
  while (!list.empty()) {
    const auto end = std::min(list.find(','), list.size());
    const std::string_view item = list.substr(0, end);
    list.remove_prefix(std::min(end + 1, list.size()));
    int number = 0;
    const auto [rest, error] = std::from_chars(item.data(), item.data() + item.size(), number);
    if (error != std::errc{}) continue;
    const std::string_view kind(rest, static_cast<std::size_t>(item.data() + item.size() - rest));
    if (kind == "-real" || kind == "a-real" || kind.empty()) architectures.code.push_back(number);
    if (kind == "-virtual" || kind.empty()) architectures.ptx.push_back(number);
  }
  std::sort(architectures.code.begin(), architectures.code.end());
  std::sort(architectures.ptx.begin(), architectures.ptx.end());
  return architectures;
}

const GpuArchitectures& built_gpu_architectures() {
  static const GpuArchitectures built = read_gpu_architectures(TRAINX_CUDA_ARCHITECTURES);
  return built;
}

}  // namespace trainx
