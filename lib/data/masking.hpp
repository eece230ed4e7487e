#pragma once
#include "data/source.hpp"
#include "options/model/task.hpp"
#include <cstdint>

namespace trainx::data {

/// Picks the targets of a sample for masked_lm and puts masks in their places
/// (options::Masking says how), as a function of (seed, position) and the sample's tokens
/// alone. A sample with a token that may be masked gets at least one target.
void draw_masks(const options::Masking& masking, std::uint64_t seed, std::int64_t position,
                SampleView sample);

}  // namespace trainx::data
