// Which token follows, of a distribution over all.
#pragma once
#include "launch/sampling_options.hpp"
#include <cstdint>
#include <span>

namespace trainx::generate {

/// The token that the number `u`, uniform in [0, 1), stands for: an index into logits, which may
/// hold -infinity (never drawn). Of equal logits the one with the lower index is the likelier.
/// Throws UserError 65 where a logit is NaN or infinity, or none is finite.
std::int32_t draw_token(std::span<const float> logits, const launch::SamplingOptions& options,
                        double u);

/// Index of the likeliest. Throws UserError 65 as draw_token does.
std::size_t largest_logit(std::span<const float> logits);

/// The number for the token at `position` of a text with this seed.
double uniform_at(std::uint64_t seed, std::int64_t position);

}  // namespace trainx::generate
