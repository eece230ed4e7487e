#include "execute/cpu_executor.hpp"
#include "kernels/quantize/fp8_ranges.hpp"
#include "core/error.hpp"
#include "operations/cast/cast.hpp"
#include "operations/common/timed_work.hpp"
#include "program/operations.hpp"
#include "execute/balance.hpp"
#include "execute/collectives.hpp"
#include "execute/fp8_weights.hpp"
#include "execute/host_update.hpp"
#include <ATen/core/grad_mode.h>
#include <algorithm>
#include <cmath>
#include <cstring>

namespace trainx::execute {

using namespace program;

CpuExecutor::CpuExecutor(const std::vector<plan::PlacedProgram>& programs, Arena& arena,
                         ExecutorParts parts, ExecutorHooks hooks, Arena* host, disk::Disk* disk)
    : arena_(arena), disk_(disk), parts_(std::move(parts)), shapes_(programs.size()) {
  std::vector<LaneProgram> lanes;
  for (std::size_t k = 0; k < programs.size(); ++k) {
    require_executable(programs[k]);
    if (programs[k].placement.peak_of(Space::host) > (host ? host->bytes() : 0))
      throw InternalError("the executor has no memory for the program's buffers on the host");
    if (!disk_ &&
        std::ranges::count(programs[k].program.steady, Lane::disk, &Instruction::lane) > 0)
      throw InternalError("the executor has no disk for the program's buffers there");
    Shape& shape = shapes_[k];
    shape.placed = &programs[k];
    shape.memory.emplace(programs[k], arena.data(), host ? host->data() : nullptr, Place::host);
    shape.blocks = &parts_.blocks->at(k);
    shape.groups = own_groups(programs[k], parts_.rank);
    lanes.push_back({programs[k].program, programs[k].order,
                     [this, &shape, after = hooks.after_each](const Instruction& i, int position) {
                       timing_ ? execute_timed(shape, i) : execute(shape, i);
                       if (parts_.progress) ++parts_.progress->done;
                       if (after) after(i, position);
                     }});
  }
  if (programs.size() > 1 && !parts_.shape_of)
    throw InternalError(
        "the executor has several programs and nothing that tells which one a step takes");
  lanes_ = std::make_unique<LaneRunner>(std::move(lanes), std::move(hooks.before_each));
}

void CpuExecutor::submit_step() {
  const std::int64_t step = parts_.first_step + submitted_++;
  const std::size_t shape = shapes_.size() == 1 ? 0 : parts_.shape_of(step);
  if (to_time_ == 0) return lanes_->submit_round(shape);
  --to_time_;
  // the step alone, so that its instructions wait for each other and not for another step's
  lanes_->wait_idle();
  times_ = {};
  timed_since_ = std::chrono::steady_clock::now();
  timing_ = true;
  lanes_->submit_round(shape);
  lanes_->wait_idle();
  timing_ = false;
  for (const StepSpan& span : times_.spans)
    times_.ms = std::max(times_.ms, span.begin_ms + span.ms);
  on_times_(times_);
}

void CpuExecutor::time_next(std::int64_t steps, OnTimes on_times) {
  to_time_ = steps;
  on_times_ = std::move(on_times);
}

void CpuExecutor::execute_timed(Shape& s, const Instruction& i) {
  using Clock = operations::WorkTimes::Clock;
  const Clock::time_point begin = Clock::now();
  operations::WorkTimes parts;
  execute(s, i);
  const Clock::time_point end = Clock::now();
  const Work rest = i.lane == Lane::communication ? Work::communication
                    : i.op == Op::update || i.op == Op::measure || i.op == Op::balance ||
                            i.op == Op::grad_norm
                        ? Work::optimizer
                    : i.op == Op::fetch_batch || i.op == Op::copy || i.op == Op::cast ||
                            i.op == Op::fp8_scale || i.op == Op::quantize
                        ? Work::copy
                        : Work::other;
  const std::string name = describe(*s.placed, i);
  const auto ms = [](Clock::duration d) {
    return std::chrono::duration<double, std::milli>(d).count();
  };
  const std::lock_guard lock(times_mutex_);
  const auto add = [&](Work work, Clock::time_point from, Clock::time_point to) {
    if (to > from)
      times_.spans.push_back({name, work, "", i.lane, ms(from - timed_since_), ms(to - from)});
  };
  Clock::time_point at = begin;
  for (const auto& part : parts.spans) {
    add(rest, at, part.begin);
    add(part.work, part.begin, part.end);
    at = part.end;
  }
  add(rest, at, end);
}

void CpuExecutor::execute(Shape& s, const Instruction& i) {
  const at::NoGradGuard no_grad;
  switch (i.op) {
    case Op::fetch_batch: return fetch_batch(s, i);
    case Op::forward:
    case Op::recompute:
    case Op::backward:
    case Op::loss:
    case Op::evaluate:
    case Op::predict:
    case Op::cast_weights: return compute(s, i);
    case Op::copy: return copy(s, i);
    case Op::cast:
      return operations::cast(s.memory->tensor(i, CopySlot::to),
                              s.memory->tensor(i, CopySlot::from));
    case Op::add:
      return operations::add(s.memory->tensor(i, CopySlot::to),
                             s.memory->tensor(i, CopySlot::from));
    case Op::fp8_scale: return find_fp8_scales(i, *s.memory, s.groups);
    case Op::quantize: return quantize_weights(i, *s.memory, s.groups);
    case Op::grad_norm: return grad_norm(s, i);
    case Op::measure:
    case Op::update: return update(s, i);
    case Op::balance: return balance(s, i);
    case Op::advance_step: ++s.memory->scalar<std::int64_t>(i, AdvanceSlot::counter); return;
    case Op::advance_applied: {
      const bool finite = std::isfinite(s.memory->scalar<double>(i, AdvanceSlot::norm2));
      if (const Use* ranges = find_use(i, AdvanceSlot::fp8_ranges)) {
        const Use& counts = use_of(i, AdvanceSlot::fp8_counts);
        if (finite)
          kernels::advance_fp8_ranges(
              reinterpret_cast<double*>(s.memory->address(*ranges)),
              reinterpret_cast<const double*>(s.memory->address(counts)),
              s.memory->buffer(*ranges).elements / kernels::fp8_range_state);
        return;
      }
      if (find_use(i, AdvanceSlot::loss_scale))
        kernels::advance_loss_scale(&s.memory->scalar<double>(i, AdvanceSlot::loss_scale), finite,
                                    parts_.loss_scale);
      else
        s.memory->scalar<std::int64_t>(i, AdvanceSlot::counter) += finite;
      return;
    }
    case Op::report: return report(s, i);
    case Op::reduce:
    case Op::broadcast:
    case Op::scatter:
    case Op::gather:
    case Op::all_to_all:
    case Op::send:
    case Op::recv: return communicate(s, i);
  }
}

std::vector<std::int64_t> CpuExecutor::operand_bytes() const {
  const Shape& s = shapes_.back();
  std::vector<std::int64_t> bytes;
  for (const auto& of_lane : s.contexts) count_operands(*s.placed, of_lane, bytes);
  return bytes;
}

const std::byte* CpuExecutor::output(const std::string& name) const {
  const plan::PlacedProgram& placed = *shapes_.front().placed;
  for (std::size_t b = 0; b < placed.program.buffers.size(); ++b)
    if (placed.program.buffers[b].name == name) return arena_.data() + placed.placement.base[b];
  throw InternalError("the program has no buffer '" + name + "'");
}

void CpuExecutor::fetch_batch(const Shape& s, const Instruction& i) {
  data::BatchView out;
  for (std::size_t k = 0; k < s.placed->graph.batch.size(); ++k)
    set_field(out, s.placed->graph.batch[k],
              s.memory->address(use_of(i, FetchSlot::first_batch + static_cast<Slot>(k))));
  parts_.fetch(s.memory->scalar<std::int64_t>(i, FetchSlot::step), i.micro,
               i.peer == none ? parts_.rank : i.peer, out);
}

void CpuExecutor::compute(Shape& s, const Instruction& i) {
  auto& context = s.contexts[static_cast<std::size_t>(i.lane)][&i];
  if (!context) context = block_context(*s.placed, i, arena_.data(), Place::host, parts_);
  run_block(*(*s.blocks)[static_cast<std::size_t>(i.block)], i.op, *context);
}

void CpuExecutor::copy(const Shape& s, const Instruction& i) {
  const Use &from = use_of(i, CopySlot::from), &to = use_of(i, CopySlot::to);
  const std::int64_t bytes = s.memory->bytes(from);
  const auto on_disk = [&](const Use& u) { return s.memory->buffer(u).space == Space::disk; };
  const auto offset = [&](const Use& u) {
    return s.placed->placement.base[static_cast<std::size_t>(u.buffer)];
  };
  if (on_disk(from))
    disk_->read(offset(from), s.memory->address(to), bytes);
  else if (on_disk(to))
    disk_->write(offset(to), s.memory->address(from), bytes);
  else
    std::memcpy(s.memory->address(to), s.memory->address(from), static_cast<std::size_t>(bytes));
}

void CpuExecutor::communicate(const Shape& s, const Instruction& i) {
  comm::Communicator* const ranks = parts_.communicators.along(i.along);
  if (!ranks)
    throw InternalError(std::string("a program for one rank holds ") + std::string(name_of(i.op)));
  if (parts_.before_collective) parts_.before_collective(*s.placed, i);
  run_collective(i, *s.memory, *ranks);
}

void CpuExecutor::grad_norm(const Shape& s, const Instruction& i) {
  double sum = 0;
  for (std::size_t g = 0; g < s.groups.size(); ++g)
    if (const Use* u = find_use(i, NormSlot::first_gradient + static_cast<Slot>(g)))
      sum += optim::squared_norm(s.groups[g].spec,
                                 reinterpret_cast<const float*>(s.memory->address(*u)));
  double& norm2 = s.memory->scalar<double>(i, NormSlot::norm2);
  norm2 = use_of(i, NormSlot::norm2).how == How::accumulate ? norm2 + sum : sum;
}

void CpuExecutor::update(const Shape& s, const Instruction& i) {
  update_on_host(
      *s.placed, i, s.groups[static_cast<std::size_t>(i.group)],
      [&](const Use& u) { return s.memory->address(u); }, parts_);
}

void CpuExecutor::balance(const Shape& s, const Instruction& i) {
  for (const kernels::BalanceBiases& op :
       balance_of(i, s.groups[static_cast<std::size_t>(i.group)].spec, *s.memory))
    kernels::balance_biases_reference(op);
}

void CpuExecutor::report(const Shape& s, const Instruction& i) {
  StepScalarsReport r;
  r.loss_sum = s.memory->scalar<double>(i, ReportSlot::loss_sum);
  r.target_count = s.memory->scalar<double>(i, ReportSlot::target_count);
  if (find_use(i, ReportSlot::norm2)) {
    r.norm2 = s.memory->scalar<double>(i, ReportSlot::norm2);
    r.applied_steps = s.memory->scalar<std::int64_t>(i, ReportSlot::applied);
    if (find_use(i, ReportSlot::loss_scale))
      r.loss_scale = s.memory->scalar<double>(i, ReportSlot::loss_scale);
    r.lr = learning_rate_at(&s.memory->scalar<double>(i, ReportSlot::lr_table),
                            s.memory->buffer(use_of(i, ReportSlot::lr_table)).elements,
                            r.applied_steps - std::isfinite(r.norm2));
  }
  const auto& scalars = s.placed->graph.scalars;
  for (std::size_t k = 0; k < scalars.size(); ++k)
    if (const Use* u = find_use(i, ReportSlot::first_metric + static_cast<Slot>(k))) {
      const auto* values = reinterpret_cast<const double*>(s.memory->address(*u));
      r.metrics[scalars[k].name].assign(values, values + scalars[k].elements());
    }
  parts_.report(r);
}

}  // namespace trainx::execute
