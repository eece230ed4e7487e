#pragma once
#include <cstdint>

namespace trainx::program {

/// The least multiple of `to` that is not below n.
constexpr std::int64_t round_up(std::int64_t n, std::int64_t to) { return (n + to - 1) / to * to; }

}  // namespace trainx::program
