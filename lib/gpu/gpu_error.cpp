#include "gpu/gpu_error.hpp"
#include "core/units.hpp"
#include "gpu/power.hpp"

namespace trainx::gpu {
namespace {

// A library's kernels are loaded when they are first launched: with less than this free, memory is
// what they lack.
constexpr std::size_t loading_bytes = std::size_t{128} << 20;

std::string& device_name() {
  static std::string name = "the GPU";
  return name;
}

/// A kernel did what it must not: its fault, or that of the memory under it.
bool is_fault_of_kernel(cudaError_t error) {
  switch (error) {
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorAssert:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure: return true;
    default: return false;
  }
}

std::string words_of(cudaError_t error) {
  return std::string(cudaGetErrorString(error)) + " (CUDA error " +
         std::to_string(static_cast<int>(error)) + ")";
}

std::string sentence_of(cudaError_t error, const std::string& when, const std::string& noticed) {
  return device_name() + " failed" + (when.empty() ? "" : " " + when) + ": " + words_of(error) +
         (noticed.empty() ? "" : ", noticed at: " + noticed) +
         (is_fault_of_kernel(error)
              ? "; run the same command again, which goes on from the last checkpoint. If it fails "
                "again, `trainx doctor` shows whether the GPU's memory is broken, and "
                "CUDA_LAUNCH_BLOCKING=1 with run.execution=eager names the instruction"
              : "; see what `trainx doctor` recommends for it, then run the same command again, "
                "which goes on from the last checkpoint");
}

/// "; 79 GiB of 80 GiB are in use (process 4242 61 GiB)"; empty where the driver does not tell.
std::string memory_words() {
  const PowerMeter meter;
  const PowerReading now = meter.read();
  if (!now.used_bytes || !now.total_bytes) return "";
  const std::string others = meter.others();
  return "; " + human_bytes(*now.used_bytes) + " of the GPU's " + human_bytes(*now.total_bytes) +
         " are in use" + (others.empty() ? "" : " (" + others + ")");
}

const char* const more_memory =
    "; end what else runs there (nvidia-smi), or lower memory.budget or batch.micro_batch_size";

}  // namespace

bool is_loss(cudaError_t error) {
  switch (error) {
    case cudaErrorDevicesUnavailable:
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorContained:
    case cudaErrorHardwareStackError:
    case cudaErrorContextIsDestroyed:
    case cudaErrorUnknown: return true;
    default: return is_fault_of_kernel(error);
  }
}

DeviceLost::DeviceLost(cudaError_t error, const std::string& when, const std::string& noticed)
    : GpuError(ExitCode::unavailable, sentence_of(error, when, noticed)), error_(error) {}

DeviceLost::DeviceLost(const DeviceLost& lost, const std::string& instruction)
    : GpuError(ExitCode::unavailable, std::string(lost.what()) + " (in " + instruction + ")"),
      error_(lost.error_) {}

void name_device(const std::string& name) { device_name() = name; }

std::optional<cudaError_t> loss_of_device() {
  std::size_t free = 0, total = 0;
  const cudaError_t error = cudaMemGetInfo(&free, &total);
  return is_loss(error) ? std::optional(error) : std::nullopt;
}

void throw_if_lost(const std::string& noticed) {
  if (const auto error = loss_of_device()) throw DeviceLost(*error, "", noticed);
}

void throw_library_error(ExitCode code, const std::string& sentence) {
  throw_if_lost(sentence);
  std::size_t free = 0, total = 0;
  if (code != ExitCode::out_of_memory &&
      (cudaMemGetInfo(&free, &total) != cudaSuccess || free >= loading_bytes))
    throw GpuError(code, sentence);
  throw GpuError(ExitCode::out_of_memory, sentence + memory_words() + more_memory);
}

void throw_cuda_error(cudaError_t error, const std::string& doing) {
  if (is_loss(error)) throw DeviceLost(error, "", doing);
  const std::string sentence = doing + ": " + words_of(error);
  if (error != cudaErrorMemoryAllocation) throw GpuError(ExitCode::unavailable, sentence);
  throw GpuError(ExitCode::out_of_memory, sentence + memory_words() + more_memory);
}

}  // namespace trainx::gpu
