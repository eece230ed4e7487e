#pragma once
#include <cstdint>

namespace trainx::operations {

/// Who casts a weight to fp8, and when: each operation that multiplies it; the first of a step, for
/// all that read it; the program, before ranks that have parts of it gather them
/// (program::GroupSpec::fp8): it then arrives in fp8, and a GPU transposes it for its input's
/// gradient; the program, before the first step (Linear::run_weight_casts): weights that are not
/// trained. Of a run once_a_run means these, and once_a_step for all others.
enum class Fp8WeightCasts : std::uint8_t { in_each_use, once_a_step, before_gathers, once_a_run };

}  // namespace trainx::operations
