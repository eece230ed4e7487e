#include "operations/common/launch.hpp"
#include "operations/logit_sums/logit_sums_backends.hpp"

namespace trainx::operations::cuda {

void logit_sums(const Gpu& gpu, const Tensor& numbers, const Tensor& logits, const Tensor& targets,
                const LogitPart& part) {
  with_kernel_element(logits, [&]<class T>(T) {
    gpu::require(
        kernels::logit_sums(logit_sums_of<T>(numbers, logits, targets, part), gpu.space.stream),
        "sums of logits");
  });
  gpu.done(Work::loss);
}

void logit_sums_backward(const Gpu& gpu, const Tensor& d_logits, const Tensor& d_numbers,
                         const Tensor& numbers, const Tensor& logits, const Tensor& targets,
                         const LogitPart& part) {
  with_kernel_element(logits, [&]<class T>(T) {
    const kernels::LogitSumsGradient<T> op{logit_sums_of<T>(numbers, logits, targets, part),
                                           pointer<const float>(d_numbers), pointer<T>(d_logits)};
    gpu::require(kernels::logit_sums_gradient(op, gpu.space.stream), "gradient of sums of logits");
  });
  gpu.done(Work::loss);
}

void part_loss(const Gpu& gpu, const PartLossTo& to, const Tensor& all, const Tensor& targets,
               const PartLossForm& form) {
  gpu::require(
      kernels::part_loss(part_loss_of(all, targets, form), part_loss_sums(to), gpu.space.stream),
      "loss of parts");
  gpu.done(Work::loss);
}

void part_loss_backward(const Gpu& gpu, const Tensor& d_numbers, const Tensor& all,
                        const Tensor& targets, const PartLossForm& form, std::int64_t place,
                        const LossSeed& seed) {
  gpu::require(kernels::part_loss_gradient({part_loss_of(all, targets, form), place, seed.factor,
                                            seed.scale, pointer<float>(d_numbers)},
                                           gpu.space.stream),
               "gradient of the loss of parts");
  gpu.done(Work::loss);
}

}  // namespace trainx::operations::cuda
