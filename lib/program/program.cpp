#include "program/program.hpp"
#include "core/error.hpp"

namespace trainx::program {

bool is_collective(Op op) {
  switch (op) {
    case Op::reduce:
    case Op::broadcast:
    case Op::scatter:
    case Op::gather:
    case Op::all_to_all:
    case Op::send:
    case Op::recv: return true;
    default: return false;
  }
}

BufferId add_buffer(StepProgram& p, Buffer buffer) {
  p.buffers.push_back(std::move(buffer));
  return static_cast<BufferId>(p.buffers.size()) - 1;
}

const Use* find_use(const Instruction& i, Slot slot) {
  for (const Use& u : i.uses)
    if (u.slot == slot) return &u;
  return nullptr;
}

const Use& use_of(const Instruction& i, Slot slot) {
  if (const Use* u = find_use(i, slot)) return *u;
  throw InternalError(std::string(name_of(i.op)) + " has no use of slot " + std::to_string(slot));
}

bool meet(const Instruction& a, const Instruction& b) {
  for (const Use& x : a.uses)
    for (const Use& y : b.uses)
      if (x.buffer == y.buffer && (writes(x.how) || writes(y.how))) return true;
  return false;
}

std::string_view name_of(Op op) {
  switch (op) {
    case Op::fetch_batch: return "fetch_batch";
    case Op::forward: return "forward";
    case Op::loss: return "loss";
    case Op::recompute: return "recompute";
    case Op::backward: return "backward";
    case Op::evaluate: return "evaluate";
    case Op::predict: return "predict";
    case Op::cast_weights: return "cast_weights";
    case Op::reduce: return "reduce";
    case Op::broadcast: return "broadcast";
    case Op::scatter: return "scatter";
    case Op::gather: return "gather";
    case Op::all_to_all: return "all_to_all";
    case Op::send: return "send";
    case Op::recv: return "recv";
    case Op::copy: return "copy";
    case Op::cast: return "cast";
    case Op::add: return "add";
    case Op::fp8_scale: return "fp8_scale";
    case Op::quantize: return "quantize";
    case Op::grad_norm: return "grad_norm";
    case Op::measure: return "measure";
    case Op::update: return "update";
    case Op::balance: return "balance";
    case Op::advance_step: return "advance_step";
    case Op::advance_applied: return "advance_applied";
    case Op::report: return "report";
  }
  return "?";
}

std::string_view name_of(Lane lane) {
  switch (lane) {
    case Lane::compute: return "compute";
    case Lane::copy_in: return "copy_in";
    case Lane::copy_out: return "copy_out";
    case Lane::communication: return "communication";
    case Lane::host: return "host";
    case Lane::disk: return "disk";
  }
  return "?";
}

}  // namespace trainx::program
