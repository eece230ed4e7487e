#pragma once
#include "data/order.hpp"
#include "data/source.hpp"
#include <cstdint>

namespace trainx::data {

constexpr std::int64_t most_block_samples = 1024;

/// How many samples of each source a block has, in [512, 1024] altogether: the shares as exactly as
/// such a number allows, each at least 1.
std::vector<std::int64_t> mixture_quotas(const std::vector<MixturePart>& parts);

/// The stream is cut into blocks of one size, in which each source has its quota, in a keyed order;
/// the n-th sample of a source in the stream is the n-th of its own epochs. So shares are exact
/// block by block, seeking is O(1), and a source repeats no sample before all its others have come.
/// An epoch of the mixture has as many samples as all sources together. Sample ids count through
/// the sources one after another. Without `shuffle` each source goes through its samples in order,
/// and sources alternate evenly.
Order mixture_order(const std::vector<MixturePart>& parts, std::uint64_t seed, bool shuffle);

}  // namespace trainx::data
