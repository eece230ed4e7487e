// A buffer of a step program: what it holds, of which type, where it lies.
#pragma once
#include "core/dtype.hpp"
#include "program/layout.hpp"
#include <cstdint>
#include <string>
#include <string_view>

namespace trainx::program {

using Bytes = std::int64_t;
using BufferId = int;
constexpr int none = -1;

/// What a buffer or an operand of a block holds. `index` names which one, see Buffer::index.
enum class Role : std::uint8_t {
  parameter,       // of a group, as blocks compute with them
  master,          // of a group: exact weights, or the bits that parameters of 16 bits lack
  state,           // of a group: what the optimizer keeps
  gradient,        // of a group
  value,           // between blocks
  value_gradient,  // the loss's gradient with respect to a value
  saved,           // of a block, from forward to backward
  cast_weight,     // of a block: a weight as products read it, for the whole step or run
  scratch,         // of one instruction
  transit,         // of a group: a gradient or its shard, as ranks exchange it
  batch,           // a tensor of the micro-batch
  cache,           // of a block, from token to token: keys and values of a text so far
  step,            // i64: steps so far, which position the data
  applied_steps,   // i64: updates so far; those with finite gradients count
  learning_rates,  // f64, by applied step
  loss_sum,        // f64: over targets
  target_count,    // f64
  metric,          // f64: what evaluation sums besides
  squared_norm,    // f64: of all gradients
  tensor_sums,     // f64: what an optimizer sums over whole tensors of a group
  loss_scale,      // f64 [2]: the scale, and steps since it last changed
  fp8_ranges,      // f64: of tensors that are cast to fp8, kernels/quantize/fp8_ranges.hpp
  fp8_scales,      // f32: of weights that the program casts to fp8 (GroupSpec::fp8)
};
constexpr int role_count = static_cast<int>(Role::fp8_scales) + 1;

/// Has elements, or entries, that belong to a group of parameters?
constexpr bool is_of_group(Role r) {
  return r == Role::parameter || r == Role::master || r == Role::state || r == Role::gradient ||
         r == Role::transit;
}
/// What an optimizer keeps beside the parameters.
constexpr bool is_optimizer_state(Role r) { return r == Role::master || r == Role::state; }
/// Numbers of the step or of the run.
constexpr bool is_scalar(Role r) { return r >= Role::step; }
/// Read by blocks and never summed: kept from step to step, advanced with the applied steps.
constexpr bool is_kept_scalar(Role r) { return r == Role::loss_scale || r == Role::fp8_ranges; }

/// library: memory that library calls allocate and keep (the graph of autograd between forward and
/// backward): counted, and in no arena.
enum class Space : std::uint8_t { device, host, disk, library };
constexpr int space_count = 4;

/// What the entries of an optimizer's state belong to: the smallest part of a tensor that it
/// updates by itself, where the state may be cut, for shards as for anything else.
enum class Unit : std::uint8_t {
  element,  // an entry for each element
  block,    // of state_block elements, counted from the tensor's first; blocks fill shards
  tensor,   // entries of each tensor's own: no part is used alone
};
constexpr std::int64_t state_block = 256;

struct Buffer {
  std::string name;  // for printing alone: nothing parses it
  Role role{};
  // of a group its number, of a value or its gradient the value's, of saved, cast_weight and
  // scratch the block, of a batch tensor ModelGraph::batch's, of a scalar of the graph
  // ModelGraph::scalars'
  int index = none;
  // of a state which of UpdateSpec::states, of tensor_sums which round
  int item = none;
  int micro = none;  // micro-step it belongs to; none: of the step or of the run
  DType dtype = DType::f32;
  std::int64_t elements = 0;
  Space space = Space::device;
  Unit unit = Unit::element;  // of a state
  // holds this rank's part, where it is cut. Ranks that share a program name no range of their own
  Layout layout;
  // keeps its data from step to step: what is loaded and saved; or is_derived
  bool resident = false;
  // its bytes are no other buffer's at any time: other ranks may read it while this one goes on
  bool read_by_peers = false;

  constexpr bool is_cut() const { return !layout.is_whole(); }
  constexpr Bytes bytes() const { return elements * size_of(dtype); }
};

constexpr bool is_of_group(const Buffer& b) { return is_of_group(b.role); }
/// Resident, and made of other residents once a run: neither loaded nor saved. Such buffers
/// are the last of the residents.
constexpr bool is_derived(const Buffer& b) { return b.resident && b.role == Role::cast_weight; }

std::string_view name_of(Role role);

}  // namespace trainx::program
