// Each rank's part in finding the others: knock at rank 0 until it answers, prove to each other
// that both are of the run, and hear who the others are.
#pragma once
#include "comm/connection.hpp"
#include "comm/identity.hpp"
#include <vector>

namespace trainx::comm {

struct Joined {
  Connection connection;          // to rank 0
  std::vector<Identity> members;  // by rank
};

/// `own`: rank 0's end of its pair of sockets; not open in the others. Throws UserError: the run's
/// failure as rank 0 tells it, or 69 where rank 0 is not reached.
Joined join_rank_0(const Membership& membership, const Identity& identity, double join_seconds,
                   Connection own);

}  // namespace trainx::comm
