#include "plan/batch.hpp"
#include "plan/limits.hpp"

namespace trainx::plan {

BatchPlan plan_batch(const recipe::BatchSection& b, std::int64_t ranks, const std::string& factor) {
  const int given = b.global_batch_size.has_value() + !b.micro_batch_size.is_auto() +
                    b.grad_accum_steps.has_value();
  if (given < 2 && !b.global_batch_size)
    throw UserError(ExitCode::invalid_recipe,
                    "batch: give global_batch_size, or two of global_batch_size, micro_batch_size "
                    "and grad_accum_steps; the rest follows");
  BatchPlan plan;
  const auto& micro_batch_size = b.micro_batch_size.value;
  auto divide = [](std::int64_t whole, std::int64_t part, const std::string& whole_name,
                   const std::string& part_name) {
    if (whole % part == 0) return whole / part;
    const std::int64_t below = whole / part * part, above = below + part;
    throw UserError(ExitCode::invalid_recipe,
                    "batch." + whole_name + " (" + std::to_string(whole) +
                        ") must be a multiple of " + part_name + "; the nearest that are: " +
                        (below > 0 ? std::to_string(below) + " and " : "") + std::to_string(above));
  };
  const std::string world = " * " + factor, w = std::to_string(ranks);
  if (given == 1) {
    plan.global_batch_size = *b.global_batch_size;
    plan.grad_accum_steps =
        divide(plan.global_batch_size, ranks, "global_batch_size", factor + " (" + w + ")");
    plan.micro_batch_size = 1;  // to be chosen
  } else if (!b.grad_accum_steps) {
    const std::int64_t part =
        checked_product(*micro_batch_size, ranks, "batch.micro_batch_size" + world);
    plan.global_batch_size = *b.global_batch_size;
    plan.micro_batch_size = *micro_batch_size;
    plan.grad_accum_steps = divide(plan.global_batch_size, part, "global_batch_size",
                                   "micro_batch_size" + world + " (" +
                                       std::to_string(*micro_batch_size) + " * " + w + " = " +
                                       std::to_string(part) + ")");
  } else if (!micro_batch_size) {
    const std::int64_t part =
        checked_product(*b.grad_accum_steps, ranks, "batch.grad_accum_steps" + world);
    plan.global_batch_size = *b.global_batch_size;
    plan.grad_accum_steps = *b.grad_accum_steps;
    plan.micro_batch_size = divide(plan.global_batch_size, part, "global_batch_size",
                                   "grad_accum_steps" + world + " (" +
                                       std::to_string(*b.grad_accum_steps) + " * " + w + " = " +
                                       std::to_string(part) + ")");
  } else {
    plan.micro_batch_size = *micro_batch_size;
    plan.grad_accum_steps = *b.grad_accum_steps;
    const std::int64_t of_rank = checked_product(plan.micro_batch_size, plan.grad_accum_steps,
                                                 "batch.micro_batch_size * grad_accum_steps");
    plan.global_batch_size =
        checked_product(of_rank, ranks, "batch.micro_batch_size * grad_accum_steps" + world);
    if (b.global_batch_size && *b.global_batch_size != plan.global_batch_size)
      throw UserError(ExitCode::invalid_recipe,
                      "batch.global_batch_size (" + std::to_string(*b.global_batch_size) +
                          ") is not micro_batch_size * grad_accum_steps" + world + " (" +
                          std::to_string(plan.global_batch_size) + "); leave one of them out");
  }
  return plan;
}

}  // namespace trainx::plan
