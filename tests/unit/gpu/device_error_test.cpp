// What an error of CUDA means to users: the device's, memory that is missing, or the call's own.
#include "gpu/gpu_error.hpp"
#include "support/catch.hpp"
#include <initializer_list>
#include <stdexcept>
#include <string>

namespace device_error_test {

using namespace trainx;
using namespace trainx::gpu;

namespace {

std::string words_of(const GpuError& error) { return error.what(); }

bool names(const GpuError& error, const std::string& part) {
  return words_of(error).find(part) != std::string::npos;
}

/// What require() throws.
template <class Error>
Error thrown(cudaError_t code) {
  try {
    require(code, "copying");
  } catch (const Error& error) { return error; }
  throw std::runtime_error("nothing of that type was thrown");
}

}  // namespace

TEST_CASE("an error that ends the context is the device's, which is named") {
  name_device("GPU 3 (a test's)");
  for (const cudaError_t code :
       {cudaErrorECCUncorrectable, cudaErrorNvlinkUncorrectable, cudaErrorContained,
        cudaErrorHardwareStackError, cudaErrorDevicesUnavailable, cudaErrorUnknown,
        cudaErrorIllegalAddress, cudaErrorLaunchFailure, cudaErrorMisalignedAddress,
        cudaErrorIllegalInstruction, cudaErrorAssert}) {
    INFO(code);
    CHECK(is_loss(code));
    const auto error = thrown<DeviceLost>(code);
    CHECK(error.error() == code);
    CHECK(error.code() == ExitCode::unavailable);
    CHECK(words_of(error).starts_with("GPU 3 (a test's) failed"));
    CHECK(names(error, cudaGetErrorString(code)));
    CHECK(names(error, "CUDA error " + std::to_string(code)));
    CHECK(names(error, "copying"));
    CHECK(names(error, "trainx doctor"));
  }
}

TEST_CASE("a kernel's fault has a way to its instruction, the hardware's has none") {
  CHECK(names(DeviceLost(cudaErrorIllegalAddress, "at step 3"), "CUDA_LAUNCH_BLOCKING=1"));
  CHECK_FALSE(names(DeviceLost(cudaErrorECCUncorrectable, "at step 3"), "CUDA_LAUNCH_BLOCKING"));
  const DeviceLost lost(cudaErrorIllegalAddress, "at step 3");
  CHECK(names(lost, " at step 3: "));
  const DeviceLost known(lost, "backward block1");
  CHECK(known.error() == cudaErrorIllegalAddress);
  CHECK(words_of(known).ends_with("(in backward block1)"));
}

TEST_CASE("memory that is missing ends with 71, and any other error is the call's") {
  const auto memory = thrown<GpuError>(cudaErrorMemoryAllocation);
  CHECK(memory.code() == ExitCode::out_of_memory);
  CHECK(names(memory, "batch.micro_batch_size"));
  for (const cudaError_t code : {cudaErrorInvalidValue, cudaErrorInvalidResourceHandle,
                                 cudaErrorNotSupported, cudaErrorNoDevice}) {
    INFO(code);
    CHECK_FALSE(is_loss(code));
    CHECK_THROWS_AS(require(code, "a test"), GpuError);
    const auto error = thrown<GpuError>(code);
    CHECK(error.code() == ExitCode::unavailable);
    CHECK(words_of(error).starts_with("copying"));
  }
  CHECK_NOTHROW(require(cudaSuccess, "a test"));
}

TEST_CASE("a library that fails keeps its own words where the device is not lost") {
  CHECK_FALSE(loss_of_device().has_value());
  CHECK_NOTHROW(throw_if_lost("a test"));
  try {
    throw_library_error(ExitCode::unavailable, "product");
  } catch (const GpuError& error) {
    CHECK(error.code() == ExitCode::unavailable);
    CHECK(words_of(error) == "product");
  }
  CHECK_THROWS_AS(throw_library_error(ExitCode::out_of_memory, "a test"), GpuError);
  CHECK_THROWS_AS(with_device("a test", [] { throw std::logic_error("its own"); }),
                  std::logic_error);
}

}  // namespace device_error_test
