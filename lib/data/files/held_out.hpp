#pragma once
#include "data/source.hpp"
#include <cstdint>

namespace trainx::data {

/// Samples that are set aside of `samples`. Throws UserError 78 where none would be left to train
/// on.
std::int64_t held_out_samples(const options::HeldOut& held_out, std::int64_t samples);

/// One side of a source that is split in two: `split` eval has the samples that are set aside,
/// train all others, both in the source's order. Which ones they are follows from the number of
/// samples alone, by a fixed key: not from the seed, the shuffling or the batch.
std::unique_ptr<Source> split_source(std::unique_ptr<Source> source, Split split,
                                     const options::HeldOut& held_out);

}  // namespace trainx::data
