#pragma once
#include <string>

namespace trainx::worker {

/// The arithmetic that the weights of a folder were trained in as far as it tells: a checkpoint by
/// its state, a Hugging Face folder by the type that its config.json names ("bf16", "f16", "f32");
/// empty where it does not.
std::string trained_in(const std::string& folder);

}  // namespace trainx::worker
