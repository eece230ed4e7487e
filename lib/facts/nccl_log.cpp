#include "facts/nccl_log.hpp"
#include "core/process.hpp"
#include <sys/mman.h>
#include <unistd.h>
#include <array>
#include <cstdlib>

namespace trainx::facts {

std::string network_in_nccl_log(std::string_view log) {
  std::string found;
  while (!log.empty()) {
    const auto end = log.find('\n');
    const std::string_view line = log.substr(0, end);
    log.remove_prefix(end == std::string_view::npos ? log.size() : end + 1);
    const auto net = line.find("NET/");
    if (net != std::string_view::npos && line.find(" : Using ", net) != std::string_view::npos)
      found = line.substr(net);
  }
  while (!found.empty() && found.back() == ' ') found.pop_back();
  return found;
}

NcclLog::NcclLog(bool wanted) {
  if (!wanted || !environment_variable("NCCL_DEBUG").empty() ||
      !environment_variable("NCCL_DEBUG_FILE").empty())
    return;
  memory_ = Descriptor(::memfd_create("trainx-nccl-log", MFD_CLOEXEC));
  if (!memory_.is_open()) return;
  ::setenv("NCCL_DEBUG", "INFO", 1);
  ::setenv("NCCL_DEBUG_SUBSYS", "INIT,NET", 0);
  ::setenv("NCCL_DEBUG_FILE", ("/proc/self/fd/" + std::to_string(memory_.get())).c_str(), 1);
}

std::string NcclLog::network() const {
  if (!memory_.is_open()) return {};
  std::string text;
  std::array<char, 65536> piece{};
  for (ssize_t n = 1; n > 0;) {
    n = ::pread(memory_.get(), piece.data(), piece.size(), static_cast<off_t>(text.size()));
    if (n > 0) text.append(piece.data(), static_cast<std::size_t>(n));
  }
  return network_in_nccl_log(text);
}

}  // namespace trainx::facts
