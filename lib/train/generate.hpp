#pragma once
#include "launch/job.hpp"
#include "plan/run_plan.hpp"

namespace trainx::train {

/// Continues `prompt` by options.max_tokens tokens of the model in `folder`, forwarding the whole context for each token.
/// The random numbers are keyed by options.seed: equal seeds give equal text.
std::vector<std::int32_t> generate(const spec::ModelDims& dims, const std::string& folder, std::vector<std::int32_t> prompt, std::int64_t context_length,
                                   const launch::GenerateOptions& options);

}  // namespace trainx::train
