#pragma once
#include "data/order.hpp"
#include "data/source.hpp"
#include <cstdint>

namespace trainx::data {

/// `base` with its positions rearranged so that a global batch holds samples of like length: inside
/// windows of 64 global batches, which no epoch's edge crosses, the samples are sorted by length
/// and cut into batches, and the batches are put in a keyed order. Every sample keeps its epoch. A
/// window's lengths are looked up when one of its positions is asked for; the last few windows are
/// kept.
Order grouped_order(std::shared_ptr<const Source> source, Order base, std::uint64_t seed,
                    std::int64_t global_batch_size);

}  // namespace trainx::data
