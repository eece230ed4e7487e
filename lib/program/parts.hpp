// Into what a block or a group is cut, of which each rank has its own.
#pragma once
#include "program/axes.hpp"

namespace trainx::program {

/// As many equal parts as ranks differ along the set, each with one of them: experts of a layer.
/// A graph is made for so many ranks; one part is all there is, and along no axis.
struct Parts {
  AxisSet along = {};
  int count = 1;

  constexpr bool are_several() const { return count > 1; }
  bool operator==(const Parts&) const = default;
};

}  // namespace trainx::program
