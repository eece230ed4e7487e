#pragma once
#include "data/source.hpp"
#include <cstdint>

namespace trainx::data::stories {

/// Fills `tokens` with the beginning of an endless text of stories that depends on (seed, split,
/// index) alone, starting at a story's beginning. With `nats` (as long as `tokens`, or empty) also
/// -ln p of each token given those before it in the sample.
void draw_sample(std::uint64_t seed, Split split, std::int64_t index,
                 std::span<std::int32_t> tokens, std::span<double> nats = {});

std::unique_ptr<Source> open_stories(const options::StoriesOptions& options, Split split,
                                     const SourceOptions& how);
std::unique_ptr<Vocabulary> make_stories_vocabulary();

/// Mean -ln p of the targets over the split's samples (train: the first up to 4096).
double entropy_floor(const options::StoriesOptions& options, Split split, const SourceOptions& how);

}  // namespace trainx::data::stories
