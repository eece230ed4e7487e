// Frozen weights that each rank has whole in its host's memory: the ranks of a host hold one copy.
#pragma once
#include "plan/programs.hpp"
#include "program/memory.hpp"
#include <cstdint>
#include <vector>

namespace trainx::plan {

/// Smaller buffers are not shared: their pages would hold little else than gaps.
constexpr std::int64_t least_shared_bytes = 16 * program::page_bytes;

/// By buffer of the program: is it such weights? Empty: none is. The same on every host, however
/// many ranks it has. They lie in whole pages of their own, which one rank fills and the others
/// map.
std::vector<bool> shared_weights(const Draft& plan, const program::ModelGraph& graph,
                                 const program::StepProgram& p);

/// Pages of the shared weights in the arena of that space, ascending and apart.
std::vector<program::Range> shared_pages(const Draft& plan, const PlacedProgram& placed,
                                         program::Space space);

/// Bytes of their pages, in all spaces.
std::int64_t shared_bytes(const Draft& plan, const PlacedProgram& placed);

}  // namespace trainx::plan
