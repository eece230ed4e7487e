#pragma once
#include <string>

namespace trainx::worker {

/// What was added to this worker, with its options: what `--describe` prints (JSON).
std::string describe_own_parts();

/// What `--describe-schedule` answers (JSON) to a question on stdin: {"schedule": name, "options":
/// {...}, "total": steps, "warmup": steps, "lr": optimizer.lr}. {"factors": [...]}, the share of lr
/// of each step from the end of the warm-up on, or {"problem": sentence}.
std::string describe_schedule(const std::string& question);

/// What `--describe-data` answers (JSON) to a question on stdin: {"data": name, "options": {...},
/// "split": "train" | "eval"}. {"length": samples, "vocab_size": n}, {} where there is no such
/// split, or {"problem": sentence, "code": exit code}.
std::string describe_data(const std::string& question);

/// What `--describe-graph` answers (JSON) to a question on stdin: {"config": config.json of the
/// model, "compute": "f32" | "bf16", "threads": n, "sizes": [[micro_batch_size, length], ...]}.
/// {"shapes": [...]}, or {"problem": sentence} where trainx cannot train the model.
std::string describe_graph(const std::string& question);

/// What `--describe-rule` answers (JSON) to a question on stdin: {"optimizer": name, "options":
/// {...}, "gpu": {...}}. What a rule that computes with tensors takes there (facts::OwnRuleFacts),
/// or {"problem": sentence, "code": exit code}.
std::string describe_rule(const std::string& question);

}  // namespace trainx::worker
