// LibTorch's CUDA half loads and registers where no GPU is. In a process of its own: LibTorch looks
// for it once, at the latest with the first backward of autograd.
#include "operations/attention/torch_cuda.hpp"
#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/ones.h>
#include <dlfcn.h>
#include "support/catch.hpp"

namespace torch_cuda_test {

using namespace trainx;

TEST_CASE("LibTorch's CUDA half is loaded when it is asked for, and brings its kernels") {
  CHECK((at::ones({3}) + 1).sum().item<float>() == 6);
  const auto has = [](const char* name, c10::DispatchKey key) {
    const auto op = c10::Dispatcher::singleton().findSchema({name, ""});
    REQUIRE(op);
    return op->hasKernelForDispatchKey(key);
  };
  const char* const names[] = {"aten::_flash_attention_forward", "aten::_flash_attention_backward",
                               "aten::_efficient_attention_forward",
                               "aten::_efficient_attention_backward", "aten::bmm"};
  CHECK(dlopen("libtorch_cuda.so", RTLD_NOW | RTLD_NOLOAD) == nullptr);
  for (const char* name : names) CHECK(!has(name, c10::DispatchKey::CUDA));
  operations::cuda::load_torch_cuda();
  CHECK(dlopen("libtorch_cuda.so", RTLD_NOW | RTLD_NOLOAD) != nullptr);
  for (const char* name : names) CHECK(has(name, c10::DispatchKey::CUDA));
  CHECK(at::globalContext().hasCUDART());
  operations::cuda::load_torch_cuda();  // a second time does nothing
}

}  // namespace torch_cuda_test
