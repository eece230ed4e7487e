#include "tensor/torch_view.hpp"
#include "core/error.hpp"
#include <ATen/ops/from_blob.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <array>
#include <string>

namespace trainx::tensor {

namespace {
constexpr std::array<std::pair<DType, at::ScalarType>, 9> names{
    {{DType::f64, at::kDouble},
     {DType::f32, at::kFloat},
     {DType::f16, at::kHalf},
     {DType::bf16, at::kBFloat16},
     {DType::i64, at::kLong},
     {DType::i32, at::kInt},
     {DType::i16, at::kShort},
     {DType::u16, at::ScalarType::UInt16},
     {DType::u8, at::kByte}}};

/// The GPU that this thread computes on, once LibTorch's CUDA half is loaded.
at::Device this_gpu() {
  if (!c10::impl::hasDeviceGuardImpl(c10::DeviceType::CUDA)) return {at::kCUDA, 0};
  return c10::impl::VirtualGuardImpl(c10::DeviceType::CUDA).getDevice();
}
}  // namespace

at::ScalarType scalar_type(DType t) {
  for (const auto& [ours, torchs] : names)
    if (ours == t) return torchs;
  throw InternalError("scalar_type: unknown DType");
}

DType dtype(at::ScalarType t) {
  for (const auto& [ours, torchs] : names)
    if (torchs == t) return ours;
  throw InternalError(std::string("dtype: ") + c10::toString(t) + " has no DType");
}

at::Tensor torch_view(const Tensor& t) {
  if (!t.defined()) return {};
  const at::Device device = t.place == Place::gpu ? this_gpu() : at::Device(at::kCPU);
  return at::for_blob(t.data, at::IntArrayRef(t.dims.begin(), t.dims.end()))
      .strides(at::IntArrayRef(t.strides.begin(), t.strides.end()))
      .options(at::TensorOptions().dtype(scalar_type(t.dtype)).device(device))
      .target_device(device)
      .make_tensor();
}

}  // namespace trainx::tensor

namespace trainx {

Tensor::Tensor(const at::Tensor& t) {
  if (!t.defined()) return;
  data = t.data_ptr();
  dtype = tensor::dtype(t.scalar_type());
  for (const std::int64_t d : t.sizes()) dims.push_back(d);
  for (const std::int64_t s : t.strides()) strides.push_back(s);
  if (t.dim() == 0) dims = strides = {1};
  place = t.is_cuda() ? Place::gpu : Place::host;
}

}  // namespace trainx
