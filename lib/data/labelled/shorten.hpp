#pragma once
#include "data/labelled/line.hpp"
#include <span>

namespace trainx::data::labelled {

/// Places of a sample's tokens to keep, ascending, so that at most `most` are left: tokens that
/// stand around a text stay, of two texts the longer one is shortened first, each at its end.
/// `special`: ids of such tokens, ascending. `types`: of the segments, empty if there are none.
/// Empty where there is no such cut.
std::vector<std::size_t> places_to_keep(std::span<const std::int64_t> ids,
                                        std::span<const std::int64_t> types,
                                        std::span<const std::int64_t> special, std::size_t most);

/// Keeps these places of a field.
void keep_places(std::span<const std::size_t> places, Field& field);

}  // namespace trainx::data::labelled
