#pragma once
#include <string>

namespace trainx::worker {

/// The models that were added to this worker, with their options: what `--describe` prints (JSON).
std::string describe_models();

/// What `--describe-graph` answers (JSON) to a question on stdin: {"config": config.json of the
/// model, "compute": "f32" | "bf16", "threads": n, "sizes": [[micro_batch_size, length], ...]}.
/// {"shapes": [...]}, or {"problem": sentence} where trainx cannot train the model.
std::string describe_graph(const std::string& question);

}  // namespace trainx::worker
