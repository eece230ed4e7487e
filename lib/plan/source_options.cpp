#include "plan/source_options.hpp"
#include "architectures/own_parts.hpp"

namespace trainx::plan {

data::SourceOptions source_options(const Draft& plan) {
  data::SourceOptions how;
  how.sequence_length = plan.recipe.data.sequence_length;
  how.target_length = recipe::target_length(plan.recipe.data);
  how.vocab_limit = architectures::vocab_size(plan.dims);
  how.seed = static_cast<std::uint64_t>(plan.recipe.run.seed);
  how.targets =
      data::targets_of(architectures::task(plan.dims), architectures::problem_type(plan.dims));
  how.num_labels = architectures::num_labels(plan.dims);
  how.token_type_limit = architectures::token_types(plan.dims);
  how.fields = architectures::own_fields(plan.dims);
  how.reads_tokens = architectures::reads_tokens(plan.dims);
  return how;
}

}  // namespace trainx::plan
