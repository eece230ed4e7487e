// NVML through dlopen: the library is not on every machine.
#include "gpu/power.hpp"
#include "core/units.hpp"
#include "gpu/nvml.hpp"
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <unistd.h>
#include <array>
#include <vector>

namespace trainx::gpu {

struct PowerMeter::State {
  void* library = nullptr;
  NvmlDevice device = nullptr;
  NvmlFunctions nvml;
  NvmlReturn (*shutdown)() = nullptr;
};

namespace {

template <class Function>
bool load(void* library, Function*& function, const char* name) {
  function = reinterpret_cast<Function*>(::dlsym(library, name));
  return function != nullptr;
}

std::vector<NvmlProcess> processes_of(const PowerMeter::State& s) {
  std::vector<NvmlProcess> all(64);
  auto count = static_cast<unsigned>(all.size());
  if (!s.device || !s.nvml.processes || s.nvml.processes(s.device, &count, all.data()) != 0)
    count = 0;
  all.resize(count);
  return all;
}

}  // namespace

PowerMeter::PowerMeter() : state_(std::make_unique<State>()) {
  State& s = *state_;
  s.library = ::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!s.library) return;
  NvmlReturn (*init)() = nullptr;
  NvmlReturn (*by_address)(const char*, NvmlDevice*) = nullptr;
  std::array<char, 32> address{};
  int device = 0;
  const bool found = load(s.library, init, "nvmlInit_v2") &&
                     load(s.library, by_address, "nvmlDeviceGetHandleByPciBusId_v2") &&
                     load(s.library, s.shutdown, "nvmlShutdown") &&
                     cudaGetDevice(&device) == cudaSuccess &&
                     cudaDeviceGetPCIBusId(address.data(), static_cast<int>(address.size()),
                                           device) == cudaSuccess &&
                     init() == 0;
  if (!found || by_address(address.data(), &s.device) != 0) {
    s.device = nullptr;
    return;
  }
  s.nvml = load_nvml_functions(s.library);
}

PowerMeter::~PowerMeter() {
  if (state_->device) state_->shutdown();
  if (state_->library) ::dlclose(state_->library);
}

PowerReading PowerMeter::read() const {
  return state_->device ? read_power(state_->nvml, state_->device) : PowerReading{};
}

MemoryErrors PowerMeter::memory_errors() const {
  return state_->device ? read_memory_errors(state_->nvml, state_->device) : MemoryErrors{};
}

std::optional<std::int64_t> PowerMeter::process_bytes() const {
  for (const NvmlProcess& p : processes_of(*state_))
    if (p.pid == static_cast<unsigned>(::getpid())) return static_cast<std::int64_t>(p.bytes);
  return std::nullopt;
}

std::string PowerMeter::others() const {
  std::string text;
  for (const NvmlProcess& p : processes_of(*state_))
    if (p.pid != static_cast<unsigned>(::getpid()))
      text += (text.empty() ? "process " : ", process ") + std::to_string(p.pid) + " " +
              human_bytes(static_cast<std::int64_t>(p.bytes));
  return text;
}

}  // namespace trainx::gpu
