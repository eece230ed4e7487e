#include "plan/device.hpp"
#include "architectures/active_parameters.hpp"
#include "core/error.hpp"
#include "facts/gpu_hardware.hpp"
#include "hardware/support.hpp"
#include "plan/model_dims.hpp"
#include <algorithm>

namespace trainx::plan {
namespace {

/// Modules of the user's own are measured where the run computes.
void require_measured_there(const Draft& plan) {
  const auto* custom = std::get_if<architectures::CustomDims>(&plan.dims);
  if (plan.on_gpu && custom && !custom->on_gpu())
    throw UserError(ExitCode::usage,
                    "plan --gpu: memory and time of modules of your own are measured on a GPU, and "
                    "this machine has none; plan on one that has, or leave --gpu out to plan for "
                    "the CPU");
}

// Why a GPU cannot compute the model, as the rest of a sentence; "" if it can.
std::string lacks_kernels(const recipe::Recipe& r, const architectures::ModelDims& dims) {
  if (r.precision.products == recipe::Products::fp8 && r.precision.compute != recipe::Compute::bf16)
    return "precision.products is fp8, which GPUs compute beside bf16 alone: write "
           "precision.compute: bf16";
  const std::string operation = architectures::without_gpu_kernel(dims);
  return operation.empty()
             ? ""
             : "model.type " + std::string(options::family_of(r.model.options)) +
                   (architectures::experts_of(dims) > 0 ? " with experts" : "") +
                   " computes on CPUs so far: GPUs have no kernel for its " + operation;
}

/// Throws UserError 69 for a GPU of this machine that the kernels of this build do not run on.
void require_supported(const facts::HardwareFacts& hardware) {
  const auto used =
      std::min<std::size_t>(hardware.gpus.size(), static_cast<std::size_t>(hardware.local_ranks));
  for (std::size_t i = 0; i < used; ++i)
    if (const auto no =
            hardware::why_unsupported(hardware.gpus[i].name, hardware.gpus[i].compute_capability))
      throw UserError(ExitCode::unavailable, no->sentence());
}

/// Throws UserError 78 for a type of which the GPU's tensor cores have no products.
void require_type(const recipe::Recipe& r, const std::string& gpu, int compute_capability) {
  if (compute_capability <= 0) return;
  if (r.precision.products == recipe::Products::fp8 && !hardware::has_fp8(compute_capability))
    throw UserError(
        ExitCode::invalid_recipe,
        "precision.products is fp8, in which " + gpu +
            " cannot multiply: its compute capability is below 8.9; write products: compute");
  if (r.precision.products == recipe::Products::fp8 &&
      r.precision.scaling == recipe::Scaling::blocks &&
      !hardware::has_fp8_blocks(compute_capability))
    throw UserError(ExitCode::invalid_recipe,
                    "precision.scaling is blocks, with which " + gpu +
                        " cannot multiply: cuBLASLt has such products for compute capability 9.0 "
                        "alone; write scaling: current");
  if (hardware::has_bf16_and_tf32(compute_capability)) return;
  const auto refuse = [&](const std::string& key, const std::string& type,
                          const std::string& remedy) {
    throw UserError(ExitCode::invalid_recipe, key + " is " + type + ", in which " + gpu +
                                                  " cannot multiply: its compute capability is " +
                                                  "below 8.0; write " + remedy);
  };
  if (r.precision.compute == recipe::Compute::bf16)
    refuse("precision.compute", "bf16", "fp16 or fp32");
  if (r.precision.compute == recipe::Compute::tf32) refuse("precision.compute", "tf32", "fp32");
  if (!r.eval.precision.is_auto() && *r.eval.precision.value == recipe::EvalPrecision::bf16)
    refuse("eval.precision", "bf16", "fp16 or auto");
}

bool asks_for_gpu(const recipe::Recipe& r) {
  return !r.run.device.is_auto() && *r.run.device.value == recipe::DeviceKind::gpu;
}

/// What keeps run.device auto from this machine's GPUs; "" if nothing does. A build for other GPUs
/// takes none of them either, but then somebody wanted one: require_supported refuses.
std::string lacks_here(const recipe::Recipe& r, const architectures::ModelDims& dims,
                       const facts::HardwareFacts& hardware) {
  if (!hardware.gpus.empty() && !hardware.has_cuda_parts) {
    const facts::Gpu& gpu = hardware.gpus.front();
    if (const auto never = hardware::why_never_supported(gpu.name, gpu.compute_capability))
      return never->problem;
    return "this trainx was built without CUDA; to train on the GPU, build it where nvcc of CUDA "
           "13 is (TRAINX_CUDA=on scripts/setup)";
  }
  return lacks_kernels(r, dims);
}

bool runs_on_gpu(const recipe::Recipe& r, const architectures::ModelDims& dims,
                 const facts::HardwareFacts& hardware, bool planned_for_gpu) {
  const bool asked = asks_for_gpu(r);
  if (const std::string lacks = lacks_kernels(r, dims); asked && !lacks.empty())
    throw UserError(ExitCode::invalid_recipe, "run.device is gpu, and " + lacks);
  if (!r.run.device.is_auto() && !planned_for_gpu) {
    if (!asked && r.precision.compute == recipe::Compute::tf32)
      throw UserError(
          ExitCode::invalid_recipe,
          "precision.compute is tf32, which only a GPU computes in, and run.device is cpu");
    return asked;
  }
  const std::string lacks = planned_for_gpu ? lacks_kernels(r, dims)
                                            : lacks_here(r, dims, hardware);
  const bool has_gpu = planned_for_gpu || !hardware.gpus.empty();
  const bool gpu = lacks.empty() && has_gpu;
  if (!gpu && r.precision.compute == recipe::Compute::tf32)
    throw UserError(ExitCode::invalid_recipe,
                    "precision.compute is tf32, which only a GPU computes in, and " +
                        (lacks.empty() ? "there is none here" : lacks) + "; write fp32 or bf16");
  return gpu;
}

}  // namespace

bool computes_on_gpu(const recipe::Recipe& recipe, const facts::Facts& facts) {
  if (!recipe.run.device.is_auto()) return asks_for_gpu(recipe);
  if (facts.hardware.gpus.empty()) return false;
  recipe::Recipe r = recipe;
  return lacks_here(r, plan_model_dims(r, facts), facts.hardware).empty();
}

std::optional<hardware::Hardware> choose_device(Draft& plan, const facts::HardwareFacts& hardware,
                                                const std::string& gpu) {
  const recipe::Recipe& r = plan.recipe;
  std::optional<hardware::Hardware> device;
  if (!gpu.empty()) device = hardware::hardware_named(gpu);
  plan.on_gpu = runs_on_gpu(r, plan.dims, hardware, device.has_value());
  if (device) require_measured_there(plan);
  if (plan.on_gpu && r.memory.release_cache_every)
    throw UserError(ExitCode::invalid_recipe,
                    "memory.release_cache_every can have no effect on a GPU: trainx allocates the "
                    "planned GPU memory once, and no library caches more; leave it out");
  if (device && plan.on_gpu) {
    require_type(r, device->name, device->compute_capability);
    plan.compute_capability = device->compute_capability;
    const auto never = hardware::why_never_supported(device->name, device->compute_capability);
    if (const auto no = never ? never
                              : hardware::why_unsupported(device->name, device->compute_capability))
      plan.notes.push_back("this is a plan alone: " + no->sentence());
  } else if (plan.on_gpu && !hardware.gpus.empty()) {
    const facts::Gpu& here = hardware.gpus.front();
    require_supported(hardware);
    require_type(r, here.name, here.compute_capability);
    device = facts::hardware_of(here);
    plan.compute_capability = here.compute_capability;
  }
  if (r.run.device.is_auto() && (device || !hardware.gpus.empty()) && !plan.on_gpu)
    plan.choices.push_back(
        "run.device auto takes the CPU: " +
        (device ? lacks_kernels(r, plan.dims) : lacks_here(r, plan.dims, hardware)));
  return device;
}

}  // namespace trainx::plan
