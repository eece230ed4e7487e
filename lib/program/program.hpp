// The step program: instructions over buffers. Nothing here knows training, LibTorch or threads.
// List order is the meaning: a program read from top to bottom is a correct sequential run; lanes
// only relax it.
#pragma once
#include "program/buffer.hpp"
#include <cstdint>
#include <string>
#include <vector>

namespace trainx::program {

// which operand of its operation a use is (see model_graph.hpp, operations.hpp)
using Slot = int;

enum class Lane : std::uint8_t { compute, copy_in, copy_out, communication, host, disk };
constexpr int lane_count = 6;
/// accumulate is +=, its first writer becomes overwrite; modify reads and writes in place (reduce,
/// update, advance).
enum class How : std::uint8_t { read, overwrite, accumulate, modify };
enum class Op : std::uint8_t {
  fetch_batch,
  forward,
  loss,
  recompute,
  backward,
  evaluate,
  predict,
  cast_weights,  // of a block: the copies of weights that it reads for the whole run
  reduce,
  broadcast,
  scatter,
  gather,
  all_to_all,
  send,
  recv,
  copy,
  cast,
  add,
  fp8_scale,
  quantize,
  grad_norm,
  measure,
  update,
  balance,
  advance_step,
  advance_applied,
  report,
};

/// Of an arena.
struct Range {
  Bytes begin = 0, end = 0;
};

/// Always of the whole buffer.
struct Use {
  BufferId buffer = none;
  How how{};
  Slot slot = none;
};

struct Instruction {
  Op op{};
  // forward, loss, recompute, backward, evaluate, predict, cast_weights: the model's
  int block = none;
  int micro = none;
  Lane lane = Lane::compute;
  std::vector<Use> uses;
  int group = none;           // measure, update, balance, cast of parameters: whose they are
  AxisSet along = axes::all;  // of a collective: among ranks that differ so
  // of a collective its place among those ranks: send, recv: of the other one; broadcast: of the
  // one that has it; reduce: of the one that gets the sum, none: all. fetch_batch: the rank that
  // the batch is for, where it is not this one
  int peer = none;
};

/// A run of N steps = once, steady x N.
struct StepProgram {
  std::vector<Buffer> buffers;
  Mesh mesh;
  // makes the residents that are derived from weights (is_derived), before the first step
  std::vector<Instruction> once;
  std::vector<Instruction> steady;
  int last_pass = none;  // of the canonical order of passes, the last one applied
  // A program for planning alone may leave out micro-steps that are like one of those in it.
  int repeated_micro = none;  // that micro-step
  std::int64_t repeats = 0;   // how many more there are of it
};

/// How often the step runs the instruction: more than once only where micro-steps are left out.
inline std::int64_t times(const StepProgram& p, const Instruction& i) {
  return 1 + (p.repeats > 0 && i.micro == p.repeated_micro ? p.repeats : 0);
}

constexpr bool reads(How h) { return h != How::overwrite; }
constexpr bool writes(How h) { return h != How::read; }
// all ranks of the group take part: reduce, broadcast, scatter, gather, all_to_all,
// send, recv
bool is_collective(Op op);
// an operation of a block of the model
inline bool is_of_block(const Instruction& i) { return i.block != none; }
// an operation of a group of parameters: measure, update, balance, cast (of parameters)
inline bool is_of_parameters(const Instruction& i) { return i.group != none; }

/// Adds `buffer` and returns its id.
BufferId add_buffer(StepProgram& p, Buffer buffer);
/// Into how many parts the buffer's group is cut, one a rank: 1 where each has the whole.
inline int parts_of(const StepProgram& p, const Buffer& b) { return b.layout.parts(p.mesh); }
inline Bytes bytes_of(const StepProgram& p, const Use& u) {
  return p.buffers[static_cast<std::size_t>(u.buffer)].bytes();
}
/// Which use of an instruction fills the slot: null, or InternalError, where none does.
const Use* find_use(const Instruction& i, Slot slot);
const Use& use_of(const Instruction& i, Slot slot);
/// Do the two touch the same buffer, one of them writing?
bool meet(const Instruction& a, const Instruction& b);

std::string_view name_of(Op op);
std::string_view name_of(Lane lane);

}  // namespace trainx::program
