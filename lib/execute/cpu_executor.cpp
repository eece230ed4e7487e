#include "execute/cpu_executor.hpp"
#include "core/error.hpp"
#include "operations/cast/cast.hpp"
#include "operations/common/timed_work.hpp"
#include "program/operations.hpp"
#include "execute/host_update.hpp"
#include <ATen/core/grad_mode.h>
#include <algorithm>
#include <cmath>
#include <cstring>

namespace trainx::execute {

using namespace program;

CpuExecutor::CpuExecutor(const std::vector<plan::PlacedProgram>& programs, Arena& arena,
                         ExecutorParts parts, ExecutorHooks hooks, Arena* host, disk::Disk* disk)
    : arena_(arena), host_(host), disk_(disk), parts_(std::move(parts)), shapes_(programs.size()) {
  std::vector<LaneProgram> lanes;
  for (std::size_t k = 0; k < programs.size(); ++k) {
    require_executable(programs[k]);
    if (programs[k].placement.peak_of(Space::host) > (host_ ? host_->bytes() : 0))
      throw InternalError("the executor has no memory for the program's buffers on the host");
    if (!disk_ &&
        std::ranges::count(programs[k].program.steady, Lane::disk, &Instruction::lane) > 0)
      throw InternalError("the executor has no disk for the program's buffers there");
    Shape& shape = shapes_[k];
    shape.placed = &programs[k];
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
                    : i.op == Op::update || i.op == Op::measure || i.op == Op::grad_norm
                        ? Work::optimizer
                    : i.op == Op::fetch_batch || i.op == Op::copy || i.op == Op::cast ? Work::copy
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
    case Op::predict: return compute(s, i);
    case Op::copy: return copy(s, i);
    case Op::cast:
      return operations::cast(operand(s, use_of(i, CopySlot::to)),
                              operand(s, use_of(i, CopySlot::from)));
    case Op::add:
      return operations::add(operand(s, use_of(i, CopySlot::to)),
                             operand(s, use_of(i, CopySlot::from)));
    case Op::grad_norm: return grad_norm(s, i);
    case Op::measure:
    case Op::update: return update(s, i);
    case Op::advance_step: ++scalar<std::int64_t>(s, i, AdvanceSlot::counter); return;
    case Op::advance_applied: {
      const bool finite = std::isfinite(scalar<double>(s, i, AdvanceSlot::norm2));
      if (find_use(i, AdvanceSlot::loss_scale))
        kernels::advance_loss_scale(&scalar<double>(s, i, AdvanceSlot::loss_scale), finite,
                                    parts_.loss_scale);
      else
        scalar<std::int64_t>(s, i, AdvanceSlot::counter) += finite;
      return;
    }
    case Op::report: return report(s, i);
    case Op::reduce:
    case Op::broadcast:
    case Op::scatter:
    case Op::gather:
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

std::byte* CpuExecutor::address(const Shape& s, const Use& u) const {
  const auto b = static_cast<std::size_t>(u.buffer);
  const Arena& arena = s.placed->program.buffers[b].space == Space::host ? *host_ : arena_;
  return arena.data() + s.placed->placement.base[b] + u.range.begin;
}

const std::byte* CpuExecutor::output(const std::string& name) const {
  const plan::PlacedProgram& placed = *shapes_.front().placed;
  for (std::size_t b = 0; b < placed.program.buffers.size(); ++b)
    if (placed.program.buffers[b].name == name) return arena_.data() + placed.placement.base[b];
  throw InternalError("the program has no buffer '" + name + "'");
}

template <class T>
T& CpuExecutor::scalar(const Shape& s, const Instruction& i, Slot slot) const {
  return *reinterpret_cast<T*>(address(s, use_of(i, slot)));
}

void CpuExecutor::fetch_batch(const Shape& s, const Instruction& i) {
  data::BatchView out;
  for (std::size_t k = 0; k < s.placed->graph.batch.size(); ++k)
    set_field(out, s.placed->graph.batch[k],
              address(s, use_of(i, FetchSlot::first_batch + static_cast<Slot>(k))));
  parts_.fetch(scalar<std::int64_t>(s, i, FetchSlot::step), i.micro,
               i.peer == none ? parts_.rank : i.peer, out);
}

void CpuExecutor::compute(Shape& s, const Instruction& i) {
  auto& context = s.contexts[static_cast<std::size_t>(i.lane)][&i];
  if (!context) context = block_context(*s.placed, i, arena_.data(), Place::host, parts_);
  run_block(*(*s.blocks)[static_cast<std::size_t>(i.block)], i.op, *context);
}

void CpuExecutor::copy(const Shape& s, const Instruction& i) {
  const Use &from = use_of(i, CopySlot::from), &to = use_of(i, CopySlot::to);
  const std::int64_t bytes = from.range.end - from.range.begin;
  const auto on_disk = [&](const Use& u) {
    return s.placed->program.buffers[static_cast<std::size_t>(u.buffer)].space == Space::disk;
  };
  const auto offset = [&](const Use& u) {
    return s.placed->placement.base[static_cast<std::size_t>(u.buffer)];
  };
  if (on_disk(from))
    disk_->read(offset(from), address(s, to), bytes);
  else if (on_disk(to))
    disk_->write(offset(to), address(s, from), bytes);
  else
    std::memcpy(address(s, to), address(s, from), static_cast<std::size_t>(bytes));
}

Tensor CpuExecutor::operand(const Shape& s, const Use& u) const {
  const Buffer& b = s.placed->program.buffers[static_cast<std::size_t>(u.buffer)];
  return make_tensor(address(s, u), b.dtype, {b.elements});
}

void CpuExecutor::communicate(const Shape& s, const Instruction& i) {
  if (!parts_.communicators.axis(i.axis))
    throw InternalError(std::string("a program for one rank holds ") + std::string(name_of(i.op)));
  if (parts_.before_collective) parts_.before_collective(*s.placed, i);
  comm::Communicator& ranks = *parts_.communicators.axis(i.axis);
  const auto bytes = [](const Use& u) { return u.range.end - u.range.begin; };
  const auto dtype = [&](const Use& u) {
    return s.placed->program.buffers[static_cast<std::size_t>(u.buffer)].dtype;
  };
  switch (i.op) {
    case Op::reduce:
      for (const Use& u : i.uses) {
        const std::int64_t elements = bytes(u) / size_of(dtype(u));
        i.peer == none ? ranks.all_reduce(address(s, u), elements, dtype(u))
                       : ranks.reduce(address(s, u), elements, dtype(u), i.peer);
      }
      return;
    case Op::scatter:
      for (int k = 0; const Use* full = find_use(i, ShardSlot::from(k)); ++k) {
        const Use& shard = use_of(i, ShardSlot::to(k));
        ranks.reduce_scatter(address(s, *full), address(s, shard),
                             bytes(shard) / size_of(dtype(shard)), dtype(shard));
      }
      return;
    case Op::gather:
      for (int k = 0; const Use* shard = find_use(i, ShardSlot::from(k)); ++k)
        ranks.all_gather(address(s, *shard), address(s, use_of(i, ShardSlot::to(k))),
                         bytes(*shard));
      return;
    case Op::broadcast:
      for (const Use& u : i.uses) ranks.broadcast(address(s, u), bytes(u), i.peer);
      return;
    case Op::send:
      return ranks.send(address(s, use_of(i, CopySlot::from)), bytes(use_of(i, CopySlot::from)),
                        i.peer);
    case Op::recv:
      return ranks.recv(address(s, use_of(i, CopySlot::to)), bytes(use_of(i, CopySlot::to)),
                        i.peer);
    default:
      throw InternalError(std::string("no program so far holds ") + std::string(name_of(i.op)));
  }
}

void CpuExecutor::grad_norm(const Shape& s, const Instruction& i) {
  double sum = 0;
  for (std::size_t g = 0; g < s.groups.size(); ++g)
    if (const Use* u = find_use(i, NormSlot::first_gradient + static_cast<Slot>(g)))
      sum += optim::squared_norm(s.groups[g].spec, reinterpret_cast<const float*>(address(s, *u)));
  double& norm2 = scalar<double>(s, i, NormSlot::norm2);
  norm2 = use_of(i, NormSlot::norm2).how == How::accumulate ? norm2 + sum : sum;
}

void CpuExecutor::update(const Shape& s, const Instruction& i) {
  update_on_host(
      *s.placed, i, s.groups[static_cast<std::size_t>(i.group)],
      [&](const Use& u) { return address(s, u); }, parts_);
}

void CpuExecutor::report(const Shape& s, const Instruction& i) {
  StepScalarsReport r;
  r.loss_sum = scalar<double>(s, i, ReportSlot::loss_sum);
  r.target_count = scalar<double>(s, i, ReportSlot::target_count);
  if (find_use(i, ReportSlot::norm2)) {
    r.norm2 = scalar<double>(s, i, ReportSlot::norm2);
    r.applied_steps = scalar<std::int64_t>(s, i, ReportSlot::applied);
    if (find_use(i, ReportSlot::loss_scale))
      r.loss_scale = scalar<double>(s, i, ReportSlot::loss_scale);
    r.lr = learning_rate_at(&scalar<double>(s, i, ReportSlot::lr_table),
                            use_of(i, ReportSlot::lr_table),
                            r.applied_steps - std::isfinite(r.norm2));
  }
  const auto& scalars = s.placed->graph.scalars;
  for (std::size_t k = 0; k < scalars.size(); ++k)
    if (const Use* u = find_use(i, ReportSlot::first_metric + static_cast<Slot>(k))) {
      const auto* values = reinterpret_cast<const double*>(address(s, *u));
      r.metrics[scalars[k].name].assign(values, values + scalars[k].elements());
    }
  parts_.report(r);
}

}  // namespace trainx::execute
