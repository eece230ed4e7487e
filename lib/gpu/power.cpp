// NVML through dlopen with prototypes of our own: nvml.h is not in every toolkit, the library not on every machine.
#include "gpu/power.hpp"
#include "core/units.hpp"
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <unistd.h>
#include <array>
#include <vector>

namespace trainx::gpu {

using Return = int;                     // nvmlReturn_t; 0 is success
using NvmlDevice = struct nvmlDevice_st*;
struct ViolationTime { unsigned long long reference_us, violation_ns; };                      // nvmlViolationTime_t
struct ProcessInfo { unsigned pid; unsigned long long bytes; unsigned gpu_instance, compute_instance; };   // nvmlProcessInfo_t

struct PowerMeter::State {
  void* library = nullptr;
  NvmlDevice device = nullptr;
  Return (*energy)(NvmlDevice, unsigned long long* millijoules) = nullptr;
  Return (*violation)(NvmlDevice, int policy, ViolationTime*) = nullptr;
  Return (*clock)(NvmlDevice, int type, unsigned* mhz) = nullptr;
  Return (*reasons)(NvmlDevice, unsigned long long*) = nullptr;
  Return (*processes)(NvmlDevice, unsigned* count, ProcessInfo*) = nullptr;
  Return (*shutdown)() = nullptr;
};

namespace {

template <class Function>
bool load(void* library, Function*& function, const char* name) {
  function = reinterpret_cast<Function*>(::dlsym(library, name));
  return function != nullptr;
}

std::string words_of(unsigned long long reasons) {
  static constexpr std::array<std::pair<unsigned long long, const char*>, 6> names{{{0x4, "power limit"}, {0x8, "hardware slowdown"}, {0x20, "temperature"},
                                                                                   {0x40, "hardware temperature"}, {0x80, "power brake"}, {0x2, "clocks set by a user"}}};
  std::string words;
  for (const auto& [bit, name] : names)
    if (reasons & bit) words += (words.empty() ? "" : ", ") + std::string(name);
  return words;
}

std::vector<ProcessInfo> processes_of(const PowerMeter::State& s) {
  std::vector<ProcessInfo> all(64);
  auto count = static_cast<unsigned>(all.size());
  if (!s.device || !s.processes || s.processes(s.device, &count, all.data()) != 0) count = 0;
  all.resize(count);
  return all;
}

}  // namespace

PowerMeter::PowerMeter() : state_(std::make_unique<State>()) {
  State& s = *state_;
  s.library = ::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!s.library) return;
  Return (*init)() = nullptr;
  Return (*by_address)(const char*, NvmlDevice*) = nullptr;
  std::array<char, 32> address{};
  int device = 0;
  const bool found = load(s.library, init, "nvmlInit_v2") && load(s.library, by_address, "nvmlDeviceGetHandleByPciBusId_v2") && load(s.library, s.shutdown, "nvmlShutdown") &&
                     cudaGetDevice(&device) == cudaSuccess && cudaDeviceGetPCIBusId(address.data(), static_cast<int>(address.size()), device) == cudaSuccess && init() == 0;
  if (!found || by_address(address.data(), &s.device) != 0) {
    s.device = nullptr;
    return;
  }
  load(s.library, s.energy, "nvmlDeviceGetTotalEnergyConsumption");
  load(s.library, s.violation, "nvmlDeviceGetViolationStatus");
  load(s.library, s.clock, "nvmlDeviceGetClockInfo");
  load(s.library, s.reasons, "nvmlDeviceGetCurrentClocksThrottleReasons");
  load(s.library, s.processes, "nvmlDeviceGetComputeRunningProcesses_v3");
}

PowerMeter::~PowerMeter() {
  if (state_->device) state_->shutdown();
  if (state_->library) ::dlclose(state_->library);
}

PowerReading PowerMeter::read() const {
  const State& s = *state_;
  PowerReading out;
  if (!s.device) return out;
  constexpr int power_policy = 0, multiprocessors = 1;
  unsigned long long millijoules = 0, reasons = 0;
  ViolationTime violation{};
  unsigned mhz = 0;
  if (s.energy && s.energy(s.device, &millijoules) == 0) out.joules = static_cast<double>(millijoules) / 1e3;
  if (s.violation && s.violation(s.device, power_policy, &violation) == 0) out.capped_seconds = static_cast<double>(violation.violation_ns) / 1e9;
  if (s.clock && s.clock(s.device, multiprocessors, &mhz) == 0) out.clock_mhz = mhz;
  if (s.reasons && s.reasons(s.device, &reasons) == 0) out.clock_reason = words_of(reasons);
  return out;
}

std::optional<std::int64_t> PowerMeter::process_bytes() const {
  for (const ProcessInfo& p : processes_of(*state_))
    if (p.pid == static_cast<unsigned>(::getpid())) return static_cast<std::int64_t>(p.bytes);
  return std::nullopt;
}

std::string PowerMeter::others() const {
  std::string text;
  for (const ProcessInfo& p : processes_of(*state_))
    if (p.pid != static_cast<unsigned>(::getpid())) text += (text.empty() ? "process " : ", process ") + std::to_string(p.pid) + " " + human_bytes(static_cast<std::int64_t>(p.bytes));
  return text;
}

}  // namespace trainx::gpu
