#pragma once
#include "metrics/report.hpp"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace trainx::train {

/// Of the counts of a step (program::fp8_counts); nothing where there are none. `delayed`: scaling
/// counts exponents, too.
std::optional<metrics::Fp8Shares> fp8_shares(const std::vector<double>& counts, bool delayed);
/// Ranges of delayed scaling (TrainState::fp8_ranges) as text of a checkpoint: the exponents that
/// each tensor remembers. From other text: UserError that names `path`.
std::string fp8_ranges_text(const std::vector<double>& ranges);
std::vector<double> fp8_ranges_from(const std::string& text, const std::string& path);
/// A tensor's number (TrainState::fp8_saturation), likewise.
std::int64_t fp8_tensor_from(const std::string& text, const std::string& path);

}  // namespace trainx::train
