// Which instruction waits for which, derived from the bytes that they touch after placement.
#pragma once
#include "program/memory.hpp"

namespace trainx::program {

/// Waits until `lane` has finished its instruction `index` (counted in that lane, in this list) of
/// `back` rounds ago (0 or 1).
struct Wait {
  Lane lane;
  int index;
  int back;
};
using Waits = std::vector<std::vector<Wait>>;  // by instruction of one list
/// The lists of a program run one after the other; all lanes join between them.
struct Order {
  Waits once, steady;
};

/// The minimal set: read after write, write after read, write after write over bytes, less what a
/// lane already knows by its own order or through others.
Order derive_order(const StepProgram& p, const Placement& at);
/// Do these waits order all conflicting uses? Found independently of derive_order.
bool is_ordered(const StepProgram& p, const Placement& at, const Order& order);

}  // namespace trainx::program
