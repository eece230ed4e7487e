// What a program's instructions launch.
#include "execute/balance.hpp"
#include "execute/collectives.hpp"
#include "execute/cuda/gpu_executor.hpp"
#include "execute/fp8_weights.hpp"
#include "gpu/gpu_error.hpp"
#include "kernels/quantize/quantize.hpp"
#include "kernels/step/copy_ranges.hpp"
#include "operations/cast/cast_on_stream.hpp"
#include "operations/common/gpu_scope.hpp"
#include "program/operations.hpp"
#include <ATen/core/grad_mode.h>
#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace trainx::execute {

using namespace program;
using gpu::require;

namespace {

Work work_of(Op op) {
  switch (op) {
    case Op::measure:
    case Op::update:
    case Op::balance:
    case Op::grad_norm: return Work::optimizer;
    case Op::fetch_batch:
    case Op::copy:
    case Op::cast:
    case Op::add:
    case Op::fp8_scale:
    case Op::quantize: return Work::copy;
    case Op::reduce:
    case Op::broadcast:
    case Op::scatter:
    case Op::gather:
    case Op::all_to_all:
    case Op::send:
    case Op::recv: return Work::communication;
    case Op::advance_step:
    case Op::advance_applied:
    case Op::report: return Work::scalar;
    default: return Work::other;
  }
}

/// Whether each launch is waited for, so that the one that fails is the one that says so.
bool launches_are_waited_for() {
  const char* const blocking = std::getenv("CUDA_LAUNCH_BLOCKING");
  return blocking && std::string_view(blocking) == "1";
}

}  // namespace

void GpuExecutor::issue(Shape& s, const operations::BatchNeeds& needs, gpu::Timeline* timeline,
                        Part part) {
  const at::NoGradGuard no_grad;
  operations::Gpu gpu = device_.ops();
  gpu.needs = needs;
  gpu.timeline = timeline;
  const operations::GpuScope scope(gpu);
  const bool captured = timeline && replays_ && s.launches[needs].warm;
  if (timeline) timeline->begin(stream_, captured);
  s.lanes->fork(timeline != nullptr, captured);
  const std::size_t end = s.placed->program.steady.size();
  if (part != Part::head) issue(s, timeline, s.launch_begin, end);
  if (part != Part::tail) issue(s, timeline, 0, s.launch_begin);
  if (const cudaStream_t disk = s.lanes->stream(Lane::disk))
    require(cudaLaunchHostFunc(disk, &GpuExecutor::wait_for_all_disk_transfers, this),
            "wait for the disk");
  s.lanes->join();
}

void GpuExecutor::issue(Shape& s, gpu::Timeline* timeline, std::size_t from, std::size_t to) {
  const auto& steady = s.placed->program.steady;
  for (std::size_t k = from; k < to; ++k) {
    const Instruction& i = steady[k];
    const std::string name = timeline ? describe(*s.placed, i) : "";
    if (timeline) timeline->enter(name);
    const cudaStream_t stream = s.lanes->enter(static_cast<int>(k), [&](int transfer,
                                                                        cudaStream_t waits) {
      require(cudaLaunchHostFunc(waits, &GpuExecutor::wait_for_disk_transfer,
                                 &s.disk_transfers.at(&steady[static_cast<std::size_t>(transfer)])),
              "wait for the disk");
    });
    if (timeline && stream == stream_ && s.lanes->waits(static_cast<int>(k)))
      timeline->mark(Work::wait);
    if (static_cast<std::ptrdiff_t>(k) == s.first_write) device_.hold_for_download(stream);
    try {
      execute(s, i, stream);
    } catch (const gpu::DeviceLost& lost) {
      if (!launches_are_waited_for()) throw_step_failed(lost.error(), submitted_ + 1);
      throw gpu::DeviceLost(lost, describe(*s.placed, i));
    } catch (const gpu::GpuError& error) {
      throw gpu::GpuError(error.code(),
                          std::string(error.what()) + " (in " + describe(*s.placed, i) + ")");
    }
    s.lanes->leave(static_cast<int>(k), name);
    // what the instruction's operations have not marked themselves
    if (timeline && stream == stream_) timeline->mark(work_of(i.op));
  }
}

void GpuExecutor::execute(Shape& s, const Instruction& i, cudaStream_t stream) {
  const auto copy_within = [&](std::byte* to, const std::byte* from, std::int64_t bytes) {
    require(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), cudaMemcpyDeviceToDevice,
                            stream_),
            std::string(name_of(i.op)));
  };
  switch (i.op) {
    case Op::fetch_batch: return fetch_batch(s, i);
    case Op::forward:
    case Op::recompute:
    case Op::backward:
    case Op::loss:
    case Op::evaluate:
    case Op::predict:
    case Op::cast_weights: {
      auto& context = s.contexts[&i];
      if (!context) context = block_context(*s.placed, i, device_.memory(), Place::gpu, parts_);
      if (beats_ && (i.op == Op::loss || i.op == Op::evaluate))
        require(kernels::advance(beats_, nullptr, stream_), "beat of a micro-step");
      return run_block(*(*s.blocks)[static_cast<std::size_t>(i.block)], i.op, *context);
    }
    case Op::copy: {
      if (i.lane == Lane::disk)
        return require(
            cudaLaunchHostFunc(stream, &GpuExecutor::begin_disk_transfer, &s.disk_transfers.at(&i)),
            "transfer with the disk");
      // which of them is the host's, their addresses tell
      const Use &from = use_of(i, CopySlot::from), &to = use_of(i, CopySlot::to);
      return require(cudaMemcpyAsync(s.memory->address(to), s.memory->address(from),
                                     static_cast<std::size_t>(s.memory->bytes(from)),
                                     cudaMemcpyDefault, stream),
                     "copy");
    }
    case Op::cast:
      return operations::cuda::cast(s.memory->tensor(i, CopySlot::to),
                                    s.memory->tensor(i, CopySlot::from), stream);
    case Op::add:
      return operations::cuda::add(s.memory->tensor(i, CopySlot::to),
                                   s.memory->tensor(i, CopySlot::from), stream);
    case Op::fp8_scale: return find_fp8_scales(i, *s.memory, s.groups);
    case Op::quantize: return quantize_weights(i, *s.memory, s.groups);
    case Op::grad_norm: return s.norms.at(&i).launch(stream_);
    case Op::measure:
    case Op::update:
      if (i.lane == Lane::host)
        return require(
            cudaLaunchHostFunc(stream, &GpuExecutor::make_host_update, &s.host_updates.at(&i)),
            "update on the host");
      if (const auto update = s.updates.find(&i); update != s.updates.end())
        update->second.launch(stream_);
      return;
    case Op::balance:
      for (const kernels::BalanceBiases& op :
           balance_of(i, s.groups[static_cast<std::size_t>(i.group)].spec, *s.memory))
        require(kernels::balance_biases(op, stream_), "biases of routers");
      return;
    case Op::advance_step:
      return require(
          kernels::advance(s.memory->find<std::int64_t>(i, AdvanceSlot::counter), nullptr, stream_),
          "step counter");
    case Op::advance_applied:
      if (const Use* ranges = find_use(i, AdvanceSlot::fp8_ranges))
        return require(kernels::advance_fp8_ranges(
                           s.memory->find<double>(i, AdvanceSlot::fp8_ranges),
                           s.memory->find<double>(i, AdvanceSlot::fp8_counts),
                           s.memory->buffer(*ranges).elements / kernels::fp8_range_state,
                           s.memory->find<double>(i, AdvanceSlot::norm2), stream_),
                       "ranges of tensors in fp8");
      if (find_use(i, AdvanceSlot::loss_scale))
        return require(
            kernels::advance_loss_scale(s.memory->find<double>(i, AdvanceSlot::loss_scale),
                                        s.memory->find<double>(i, AdvanceSlot::norm2),
                                        parts_.loss_scale, stream_),
            "loss scale");
      return require(kernels::advance(s.memory->find<std::int64_t>(i, AdvanceSlot::counter),
                                      s.memory->find<double>(i, AdvanceSlot::norm2), stream_),
                     "step counter");
    case Op::report:
      require(kernels::store_report(reinterpret_cast<kernels::StepReport*>(report_),
                                    report_scalars(s, i), stream_),
              "report");
      for (const Metric& m : metrics_)
        copy_within(report_ + m.offset, s.memory->address(use_of(i, m.slot)), m.bytes);
      return;
    case Op::reduce:
    case Op::broadcast:
    case Op::scatter:
    case Op::gather:
    case Op::all_to_all:
    case Op::send:
    case Op::recv: return communicate(s, i, stream);
  }
}

void GpuExecutor::fetch_batch(const Shape& s, const Instruction& i) {
  const std::byte* const record = staged_ + (std::ranges::find(s.fetches, &i) - s.fetches.begin()) *
                                                s.record_bytes;
  kernels::CopiedRanges ranges;
  if (s.field_offsets.size() > ranges.size())
    throw InternalError("a batch of " + std::to_string(s.field_offsets.size()) + " tensors");
  for (std::size_t k = 0; k < s.field_offsets.size(); ++k)
    ranges[k] = {record + s.field_offsets[k],
                 s.memory->address(use_of(i, FetchSlot::first_batch + static_cast<Slot>(k))),
                 s.placed->graph.batch[k].bytes()};
  require(kernels::copy_ranges(ranges, stream_), "fetch_batch");
}

void GpuExecutor::communicate(const Shape& s, const Instruction& i, cudaStream_t stream) {
  const gpu::NcclCommunicator* const ranks = device_.nccl(i.along);
  if (!ranks)
    throw InternalError(std::string("a program for one GPU holds ") + std::string(name_of(i.op)));
  if (parts_.before_collective) parts_.before_collective(*s.placed, i);
  if (s.copied.contains(&i)) return copy_shards(s, i, stream);
  const gpu::NcclCommunicator::Together together;
  run_collective(i, *s.memory, *ranks, stream);
}

void GpuExecutor::copy_shards(const Shape& s, const Instruction& i, cudaStream_t stream) {
  const std::vector<int> members = s.placed->program.mesh.peers(i.along, parts_.rank);
  const auto own =
      static_cast<std::size_t>(std::ranges::find(members, parts_.rank) - members.begin());
  for (int k = 0; const Use* shard = find_use(i, ShardSlot::from(k)); ++k) {
    const Bytes bytes = s.memory->bytes(*shard);
    const std::ptrdiff_t place = s.memory->address(*shard) - device_.memory();
    std::byte* const full = s.memory->address(use_of(i, ShardSlot::to(k)));
    // each begins with the next rank's, so that they do not all read the same one's
    for (std::size_t n = 1; n <= members.size(); ++n) {
      const std::size_t m = (own + n) % members.size();
      require(cudaMemcpyAsync(full + static_cast<std::ptrdiff_t>(m) * bytes,
                              device_.peers()->of(members[m]) + place,
                              static_cast<std::size_t>(bytes), cudaMemcpyDefault, stream),
              "copy of a shard");
    }
  }
}

kernels::StepScalars GpuExecutor::report_scalars(const Shape& s, const Instruction& i) const {
  kernels::StepScalars out;
  out.loss_sum = s.memory->find<double>(i, ReportSlot::loss_sum);
  out.target_count = s.memory->find<double>(i, ReportSlot::target_count);
  out.norm2 = s.memory->find<double>(i, ReportSlot::norm2);
  out.applied_steps = s.memory->find<std::int64_t>(i, ReportSlot::applied);
  out.loss_scale = s.memory->find<double>(i, ReportSlot::loss_scale);
  if (const Use* table = find_use(i, ReportSlot::lr_table)) {
    out.lr_table = reinterpret_cast<const double*>(s.memory->address(*table));
    out.lr_entries = s.memory->buffer(*table).elements;
  } else {
    out.applied_steps = nullptr;
  }
  return out;
}

}  // namespace trainx::execute
