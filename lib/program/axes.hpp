// Axes along which ranks differ, and sets of them: who makes a collective with whom.
#pragma once
#include <cstdint>
#include <string>

namespace trainx::program {

/// Outermost first: ranks that differ in the last one alone are neighbours.
enum class Axis : std::uint8_t {
  stage,    // each computes some of the layers, and hands on what they make
  replica,  // each holds all shards, among it and its neighbours
  shard,    // each has a shard of its own
  tensor,   // each has a part of each layer, and of the rows of one batch
};
constexpr int axis_count = 4;

/// A set of axes, or of their factors: the innermost ranks, as many as share the experts of each
/// layer, take of each axis the ranks nearest to each other; so do, of the axes whose ranks compute
/// other rows, those that share a batch. What else an axis has are its other factors.
class AxisSet {
 public:
  constexpr AxisSet() = default;
  /// One factor of an axis: within those that share experts or not, within those that share a batch
  /// or not.
  static constexpr AxisSet factor(Axis axis, bool within_experts, bool within_context) {
    return AxisSet(static_cast<std::uint16_t>(1U << (factors_of_axis * static_cast<unsigned>(axis) +
                                                     (within_experts ? 2U : 0U) +
                                                     (within_context ? 1U : 0U))));
  }
  static constexpr unsigned factors_of_axis = 4;
  static constexpr AxisSet all() { return AxisSet(0xffffU); }

  constexpr bool holds(AxisSet other) const { return (bits_ & other.bits_) == other.bits_; }
  constexpr bool is_empty() const { return bits_ == 0; }
  constexpr AxisSet operator|(AxisSet other) const { return AxisSet(bits_ | other.bits_); }
  constexpr AxisSet operator&(AxisSet other) const { return AxisSet(bits_ & other.bits_); }
  /// What it has and the other one has not.
  constexpr AxisSet operator-(AxisSet other) const { return AxisSet(bits_ & ~other.bits_); }
  constexpr auto operator<=>(const AxisSet&) const = default;

 private:
  constexpr explicit AxisSet(unsigned bits) : bits_(static_cast<std::uint16_t>(bits)) {}
  std::uint16_t bits_ = 0;
};

namespace axes {
constexpr AxisSet within_experts(Axis axis) {
  return AxisSet::factor(axis, true, false) | AxisSet::factor(axis, true, true);
}
constexpr AxisSet within_context(Axis axis) {
  return AxisSet::factor(axis, false, true) | AxisSet::factor(axis, true, true);
}
constexpr AxisSet whole(Axis axis) {
  return within_experts(axis) | within_context(axis) | AxisSet::factor(axis, false, false);
}
constexpr AxisSet all = AxisSet::all();
constexpr AxisSet stage = whole(Axis::stage);
constexpr AxisSet of_stage = all - stage;  // those that compute the same layers
constexpr AxisSet shard = whole(Axis::shard);
constexpr AxisSet replica = whole(Axis::replica);
constexpr AxisSet tensor = whole(Axis::tensor);
constexpr AxisSet data = of_stage - tensor;  // each computes rows of its own
/// Each has some tokens of each row of one batch, and all weights that its neighbours have.
constexpr AxisSet context = within_context(Axis::replica) | within_context(Axis::shard);
constexpr AxisSet batch = data - context;  // each has a batch of its own
/// Neighbours, each with experts of its own; and those that have the same.
constexpr AxisSet expert = within_experts(Axis::replica) | within_experts(Axis::shard) |
                           within_experts(Axis::tensor);
constexpr AxisSet expert_replica = of_stage - expert;
}  // namespace axes

/// As programs print it: "all", "stages", "shards", "replicas", "tensor", "context", "data",
/// "experts", "replicas of experts", "shards of experts", else its factors.
std::string name_of(AxisSet set);

}  // namespace trainx::program
