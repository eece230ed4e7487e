#include "model/custom/measured_device.hpp"
#include "core/error.hpp"
#include "operations/common/dispatch.hpp"
#include "tensor/allocator_meter.hpp"

namespace trainx::model::custom {
namespace {

class Cpu final : public MeasuredDevice {
 public:
  Place place() const override { return Place::host; }
  void compute(const std::function<void()>& f) override { f(); }
  program::Bytes used_bytes() const override { return tensor::allocator_bytes().current; }
  program::Bytes peak_bytes() const override { return tensor::allocator_bytes().peak; }
  void reset_peak() override { tensor::reset_allocator_peak(); }
  program::Bytes planned(program::Bytes measured) const override { return measured; }
  bool captures() const override { return false; }
  std::string try_capture(program::Bytes, const std::function<void()>&, double&) override {
    return {};
  }
};

}  // namespace

std::unique_ptr<MeasuredDevice> measured_cpu() { return std::make_unique<Cpu>(); }

std::unique_ptr<MeasuredDevice> measured_gpu([[maybe_unused]] const MeasuredGpuOptions& how) {
  if constexpr (operations::has_cuda)
    return cuda::measured_gpu(how);
  else
    throw UserError(ExitCode::unavailable,
                    "run.device is gpu, and this worker was built without CUDA; build it where "
                    "nvcc is, or set run.device to cpu");
}

}  // namespace trainx::model::custom
