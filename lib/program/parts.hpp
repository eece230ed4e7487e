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

/// How ranks share what a block computes.
struct BlockParts {
  AxisSet along = {};  // Parts
  int count = 1;
  // Each rank computes with its own part alone: of the rows of all of them, or, with groups that
  // are in one part, of its own rows. Else a rank computes all parts.
  bool own_alone = false;
  // Ranks that differ along these axes have the same rows, each with its part of the layer.
  AxisSet same_rows = {};
  AxisSet exchange = {};  // of a block that exchanges: the ranks that do

  constexpr bool are_several() const { return count > 1; }
  /// Does each rank compute all of several parts, of the rows of as many ranks?
  constexpr bool are_all_here() const { return are_several() && !own_alone; }
  /// Ranks that differ along these have other rows.
  constexpr AxisSet rows() const { return along - same_rows; }
  bool operator==(const BlockParts&) const = default;
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
