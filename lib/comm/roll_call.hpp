// Whether the processes that have come are the ranks of one run.
#pragma once
#include "comm/failure.hpp"
#include "comm/identity.hpp"
#include <optional>
#include <vector>

namespace trainx::comm {

/// Why those who have come cannot train together: two of one rank, another number of ranks, values
/// that differ, two ranks of a host on one device (78). `arrived`: in any order; the first is what
/// the others are held against where no rank 0 has come.
std::optional<Failure> difference(std::vector<Identity> arrived);
/// "rank 1" or "ranks 1, 3": who has not come.
std::string absent_ranks(const std::vector<Identity>& arrived, int world_size);
/// 69: who has not come within `seconds` to `where`. `refused`: the address of one whose proof was
/// wrong; empty: there was none.
Failure missing(const std::vector<Identity>& arrived, int world_size, double seconds,
                const std::string& where, const std::string& refused);

}  // namespace trainx::comm
