#include "plan/attention.hpp"
#include "core/error.hpp"
#include "plan/precision.hpp"

namespace trainx::plan {

void require_attention(const Draft& plan) {
  const AttentionKind kind = plan.recipe.model.attention;
  const bool packed = options::packs_documents(plan.recipe.data.source);
  const std::string asked = "model.attention: " + std::string(name_of(kind)) + " ";
  if (kind != AttentionKind::automatic && architectures::attention_dropout(plan.dims) > 0)
    throw UserError(ExitCode::invalid_recipe,
                    asked + "has no dropout: write auto, or model.options.attention_dropout: 0");
  if (kind != AttentionKind::automatic && architectures::has_own_attention(plan.dims))
    throw UserError(
        ExitCode::invalid_recipe,
        asked + "can have no effect: " + std::string(architectures::architecture_name(plan.dims)) +
            " has attention that trainx computes in one way; remove it");
  if (!plan.on_gpu && options::needs_gpu(kind))
    throw UserError(
        ExitCode::invalid_recipe,
        asked + "is a GPU's, and this run computes on the CPU: write auto, flash or math");
  std::visit(
      [&](const auto& d) {
        if constexpr (requires { d.attention; })
          for (const DType compute : {plan.compute, evaluation_dtype_of(plan.recipe)})
            if (const std::string why =
                    plan.on_gpu ? options::unfit_attention(kind, compute,
                                                           architectures::head_size(plan.dims),
                                                           plan.row_lengths.front(), packed)
                                : "";
                !why.empty())
              throw UserError(
                  ExitCode::invalid_recipe,
                  asked + why +
                      (compute == plan.compute ? ""
                                               : " (eval.precision: evaluations compute in " +
                                                     std::string(name_of(compute)) + ")"));
      },
      plan.dims);
}

}  // namespace trainx::plan
