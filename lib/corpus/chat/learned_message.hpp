#pragma once
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace trainx::corpus {

/// Whether a message says that it is learned, by a key that other tools know: `weight` (1 or 0; the
/// form of OpenAI's fine-tuning), `loss`, `loss_mask`, `loss_scale`, `train`, `training`,
/// `trainable`, or `masked` (torchtune's, the other way round); each is 0, 1, false or true.
/// Nothing: it says nothing. `place`: "messages[3]". Throws UserError 65 for other values, for two
/// keys that differ, and for keys that name parts of a message.
std::optional<bool> says_learned(const nlohmann::ordered_json& message, const std::string& place);

}  // namespace trainx::corpus
