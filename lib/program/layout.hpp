// How a buffer of a group of parameters lies over ranks.
#pragma once
#include "program/mesh.hpp"
#include <array>
#include <string>

namespace trainx::program {

/// Whole on each rank, or in equal parts, which are numbered as they follow one another in the
/// group. A cut parts what the cuts before it have left, into one part for each rank along its set.
class Layout {
 public:
  static constexpr std::size_t most_cuts = 2;

  constexpr bool is_whole() const { return cuts_[0].is_empty(); }
  /// Cut once more. Throws InternalError where there are as many cuts as it can have.
  Layout cut(AxisSet along) const;
  /// Is that one of its cuts?
  constexpr bool is_cut_along(AxisSet set) const {
    return !set.is_empty() && (cuts_[0] == set || cuts_[1] == set);
  }
  /// Ranks that differ along it have different parts, the others the same.
  constexpr AxisSet along() const { return cuts_[0] | cuts_[1]; }
  /// In order; behind the last one empty sets.
  constexpr const std::array<AxisSet, most_cuts>& cuts() const { return cuts_; }
  /// How many there are, and which of them a rank has.
  int parts(const Mesh& mesh) const;
  int part(const Mesh& mesh, int rank) const;
  bool operator==(const Layout&) const = default;

 private:
  std::array<AxisSet, most_cuts> cuts_{};
};

/// "whole", or along what it is cut, in order.
std::string name_of(const Layout& layout);

}  // namespace trainx::program
