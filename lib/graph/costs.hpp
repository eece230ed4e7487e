#pragma once
#include "graph/slots.hpp"
#include "graph/uses.hpp"

namespace trainx::graph {

/// Adds an operation's work of one direction to the phase, `times` over.
void add_cost(program::Phase& phase, const operations::Operation& operation,
              const operations::Cost& cost, const operations::BoundOp& bound,
              std::int64_t times = 1);

/// Scratch that the operation's cost asks for, overwritten by the phase; none where it is made of a
/// parameter alone.
std::vector<Slot> bind_scratch(const operations::Cost& cost, Slots& slots, Uses& uses);

}  // namespace trainx::graph
