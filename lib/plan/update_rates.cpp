#include "plan/update_rates.hpp"

namespace trainx::plan {
namespace {

// Weights of bf16 alone were not measured: a word is read and one written, as of fp32.
double element_s(const hardware::ElementTimes& times, DType compute, program::Master master) {
  if (compute == DType::f32 || master == program::Master::absent) return times.fp32;
  return master == program::Master::split ? times.split : times.beside_fp32;
}

}  // namespace

program::UpdateRates update_rates(const hardware::Hardware& device,
                                  const options::OptimizerOptions& options, DType compute,
                                  program::Master master) {
  program::UpdateRates rates;
  if (std::holds_alternative<options::AdamW8bitOptions>(options))
    rates.element_s = element_s(device.adamw_8bit, compute, master);
  if (std::holds_alternative<options::AdafactorOptions>(options))
    rates.element_s = element_s(device.adafactor, compute, master), rates.kernels = 6;
  if (std::holds_alternative<options::LambOptions>(options))
    rates.reads_twice = true, rates.kernels = 3;
  return rates;
}

}  // namespace trainx::plan
