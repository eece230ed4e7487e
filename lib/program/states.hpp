// What an optimizer keeps, and where it lies in the buffers of a group.
#pragma once
#include "program/model_graph.hpp"
#include <cstdint>
#include <functional>

namespace trainx::program {

/// Which numbers bytes stand for: those between -1 and 1, or between 0 and 1.
enum class ByteCodes : std::uint8_t { absent, of_signed, of_unsigned };

/// What an optimizer keeps of its parameters, e.g. {"exp_avg", f32}: an entry for each element, or
/// of each tensor what `dims` says.
struct StateSpec {
  std::string name;
  DType dtype = DType::f32;
  double initial = 0;  // of every entry
  // of what is kept of a tensor; empty: nothing of this one
  std::function<std::vector<std::int64_t>(const ParameterSpec&)> dims = {};
  // a moving average of the weights, as which it begins: fp32, an entry for each element
  bool averages_weights = false;
  // of scales, one for each state_block elements that a rank has of a tensor: what the bytes of the
  // state before this one stand for
  ByteCodes scales = ByteCodes::absent;
};

/// What an optimizer has to sum over a whole tensor before it can update parts of it: how many
/// numbers (f64) that is. A list of them where each follows from the one before.
using TensorSums = std::function<std::int64_t(const ParameterSpec&)>;

/// One state in the buffer that a group has of it.
struct StateLayout {
  // in entries, of each of the group's tensors; none: nothing is kept of it
  std::vector<std::int64_t> offsets;
  std::int64_t entries = 0;  // with gaps; 0: the group has no such buffer
};
/// As the group lies in its own buffers where there is an entry for each element; else the tensors
/// after one another, aligned to group_alignment entries.
StateLayout state_layout(const StateSpec& state, const GroupSpec& group);
/// Where the sums of each of the group's tensors begin, and the end of all.
std::vector<std::int64_t> sums_layout(const TensorSums& sums, const GroupSpec& group);

}  // namespace trainx::program
