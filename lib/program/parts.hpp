// The equal parts of a block or of a group of parameters, of which each rank has one.
#pragma once
#include "program/axes.hpp"

namespace trainx::program {

/// Each rank along the axes has one of `count` equal parts, such as some experts of a layer. A
/// block or group that is not cut has one part and no axes.
struct Parts {
  AxisSet along = {};
  int count = 1;

  constexpr bool are_several() const { return count > 1; }
  bool operator==(const Parts&) const = default;
};

/// What a block that computes nothing hands from rank to rank (operations::Exchange); nothing: the
/// block computes.
enum class ExchangeKind : std::uint8_t {
  nothing,
  rows_to_all,
  sums_to_rows,
  numbers_to_all,
  parts_to_ranks,
};

}  // namespace trainx::program
