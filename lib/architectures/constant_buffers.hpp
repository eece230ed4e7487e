#pragma once
#include <string_view>

namespace trainx::architectures {

/// A tensor that folders hold and every model computes anew: causal masks and their values,
/// frequencies and tables of rotations, ids of positions and segments, versions. `saved_name` is
/// the whole name.
bool is_constant_buffer(std::string_view saved_name);

}  // namespace trainx::architectures
