#include "execute/cuda/gpu_executor.hpp"
#include "comm/waits.hpp"
#include "gpu/gpu_error.hpp"
#include "program/copied_gathers.hpp"
#include "program/launch.hpp"
#include "program/operations.hpp"
#include "execute/cuda/step_needs.hpp"
#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <utility>

namespace trainx::execute {

using namespace program;

namespace {

constexpr std::int64_t alignment = 256;  // of each tensor in a record of batches
const std::string pinned_for = "pinned host memory for batches";

std::int64_t padded(std::int64_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

}  // namespace

GpuExecutor::GpuExecutor(GpuDevice& device, const std::vector<plan::PlacedProgram>& programs,
                         ExecutorParts parts)
    : device_(device),
      stream_(device.ops().space.stream),
      replays_(*device.plan().recipe.run.execution.value == recipe::Execution::graph &&
               // a loss of the user's own is given as many samples as the data has
               !(device.has_own_modules() && parts.mode == model::Mode::eval)),
      captures_(replays_ || !device.runs_own_code()),
      parts_(std::move(parts)),
      shapes_(programs.size()),
      tables_(device.taken()) {
  if (programs.size() > 1 && !parts_.shape_of)
    throw InternalError(
        "the executor has several programs and nothing that tells which one a step takes");
  for (std::size_t k = 0; k < programs.size(); ++k) {
    require_executable(programs[k]);
    shapes_[k].placed = &programs[k];
    shapes_[k].blocks = &parts_.blocks->at(k);
    shapes_[k].groups = own_groups(programs[k], parts_.rank);
    prepare(shapes_[k]);
    staged_bytes_ =
        std::max(staged_bytes_,
                 shapes_[k].record_bytes * static_cast<std::int64_t>(shapes_[k].fetches.size()));
  }
  if (staged_bytes_ > 0) {
    staged_ = tables_.take(staged_bytes_);
    pinned_ = gpu::allocate_pinned(ring * staged_bytes_, pinned_for);
  }
  place_metrics(programs.front());
  report_ = tables_.take(report_bytes_);
  reports_ = gpu::allocate_pinned(ring * report_bytes_, pinned_for);
  for (gpu::Event& e : done_) e = gpu::make_event("event of a step");
  settled_ = gpu::make_event("event of a step");
  if (parts_.progress) {
    beats_memory_ = gpu::allocate_pinned(sizeof(std::int64_t), pinned_for);
    beats_ = new (beats_memory_.as<void>()) std::int64_t{0};
  }
}

GpuExecutor::~GpuExecutor() { cudaStreamSynchronize(stream_); }

void GpuExecutor::prepare(Shape& s) {
  for (const TensorSpec& field : s.placed->graph.batch) {
    s.field_offsets.push_back(s.record_bytes);
    s.record_bytes += padded(field.bytes());
  }
  s.memory.emplace(*s.placed, device_.memory(), device_.host(), Place::gpu);
  s.lanes = std::make_unique<StreamSet>(*s.placed, stream_);
  s.launch_begin = launch_begin(s.placed->program);
  if (device_.peers()) {
    const std::vector<bool> copied = copied_gathers(s.placed->program);
    for (std::size_t k = 0; k < copied.size(); ++k)
      if (copied[k]) s.copied.insert(&s.placed->program.steady[k]);
  }
  const kernels::ScaleSettings scale{parts_.nominal_targets, parts_.max_grad_norm};
  // of updates, or of sums for them: they touch different groups, so one launch does all that are
  // trained alike
  std::vector<const Instruction*> run;
  auto end_run = [&] {
    while (!run.empty()) {
      const auto& training = s.groups[static_cast<std::size_t>(run.front()->group)].spec.training;
      const auto rest = std::ranges::stable_partition(run, [&](const Instruction* i) {
        return s.groups[static_cast<std::size_t>(i->group)].spec.training == training;
      });
      const std::vector<const Instruction*> alike(run.begin(), rest.begin());
      s.updates[alike.front()] = update_launch(
          *s.memory, tables_, s.groups, alike, device_.plan().recipe.optimizer.options, scale,
          parts_.rounding_seed, device_.plan().recipe.optimizer.ema_decay, device_.own_rules(),
          [this](const std::function<void()>& work) { on_host(work); });
      run.erase(run.begin(), rest.begin());
    }
  };
  for (const Instruction& i : s.placed->program.steady) {
    if (i.op == Op::fetch_batch) s.fetches.push_back(&i);
    if (i.lane == Lane::disk) {
      DiskTransfer& transfer = s.disk_transfers[&i];
      transfer.executor = this;
      transfer.shape = &s;
      transfer.instruction = &i;
      if (!transfers_) transfers_ = std::make_unique<WorkQueue>();
    }
    s.reports |= i.op == Op::report;
    // for what those before it need not have: weights that come from the host
    const bool waits = s.lanes->waits(static_cast<int>(&i - s.placed->program.steady.data()));
    if (!run.empty() && (run.front()->op != i.op || waits)) end_run();
    if (i.op == Op::update && i.lane == Lane::host) {
      end_run();
      s.host_updates[&i] = {this, &s, &i};
    } else if (i.op == Op::update || i.op == Op::measure) {
      run.push_back(&i);
    } else {
      end_run();
    }
    if (i.op == Op::grad_norm) s.norms[&i] = norm_launch(*s.memory, tables_, s.groups, i);
  }
  end_run();
  const StepProgram& p = s.placed->program;
  const auto changes = [&](const Use& u) {
    return writes(u.how) && p.buffers[u.buffer].resident &&
           p.buffers[u.buffer].space == Space::device;
  };
  const auto first = std::ranges::find_if(
      p.steady, [&](const Instruction& i) { return std::ranges::any_of(i.uses, changes); });
  if (first != p.steady.end()) s.first_write = first - p.steady.begin();
}

void GpuExecutor::place_metrics(const plan::PlacedProgram& placed) {
  const auto& scalars = placed.graph.scalars;
  for (const Instruction& i : placed.program.steady)
    for (std::size_t k = 0; i.op == Op::report && k < scalars.size(); ++k) {
      const auto slot = ReportSlot::first_metric + static_cast<Slot>(k);
      if (!find_use(i, slot)) continue;
      metrics_.push_back({scalars[k].name, slot, report_bytes_, scalars[k].bytes()});
      report_bytes_ += scalars[k].bytes();
    }
}

void GpuExecutor::submit_step() {
  const std::int64_t place = submitted_ % ring, step = parts_.first_step + submitted_;
  // its batches and its report were there
  if (submitted_ >= ring) wait_for_step(submitted_ - ring + 1);
  Shape& s = shapes_[shapes_.size() == 1 ? 0 : parts_.shape_of(step)];
  std::byte* const batches = pinned_.as<std::byte>() + place * staged_bytes_;
  operations::BatchNeeds needs =
      s.fetches.empty()
          ? operations::BatchNeeds{true,
                                   s.placed->graph.target_chunk == 0 ? 0 : s.placed->graph.tokens}
          : operations::BatchNeeds{.padded = false};
  for (std::size_t f = 0; f < s.fetches.size(); ++f) {
    const Instruction& fetch = *s.fetches[f];
    data::BatchView out;
    for (std::size_t k = 0; k < s.field_offsets.size(); ++k)
      set_field(out, s.placed->graph.batch[k],
                batches + static_cast<std::int64_t>(f) * s.record_bytes + s.field_offsets[k]);
    parts_.fetch(step, fetch.micro, fetch.peer == none ? parts_.rank : fetch.peer, out);
    // what is sent on is computed elsewhere
    if (fetch.peer == none) needs = with_batch(needs, out, s.placed->graph);
  }
  if (!s.fetches.empty())
    require_step(cudaMemcpyAsync(staged_, batches,
                                 static_cast<std::size_t>(s.record_bytes) * s.fetches.size(),
                                 cudaMemcpyHostToDevice, stream_),
                 std::max<std::int64_t>(submitted_, 1));
  const Part part = next_part(s);
  if (to_time_ > 0 && part == Part::whole)
    launch_timed(s, needs);
  else
    launch(s, needs, part);
  ++submitted_;
  require_step(
      cudaMemcpyAsync(reports_.as<std::byte>() + place * report_bytes_, report_,
                      static_cast<std::size_t>(report_bytes_), cudaMemcpyDeviceToHost, stream_),
      submitted_);
  require_step(cudaEventRecord(done_[static_cast<std::size_t>(place)], stream_), submitted_);
}

void GpuExecutor::require_step(cudaError_t error, std::int64_t last) const {
  if (error != cudaSuccess) throw_step_failed(error, last);
}

// A kernel fails while others are on their way, and whatever is asked of the GPU next says so: one
// of the steps that were not waited for it was. Which kernel shows where each is waited for.
void GpuExecutor::throw_step_failed(cudaError_t error, std::int64_t last) const {
  if (parts_.mode != model::Mode::train) gpu::throw_cuda_error(error, "a forward pass on the GPU");
  const std::int64_t end = parts_.first_step + last,
                     begin = parts_.first_step + std::min(reported_ + 1, last);
  const std::string which = begin == end ? "step " + std::to_string(end)
                                         : "one of the steps " + std::to_string(begin) + " to " +
                                               std::to_string(end);
  if (gpu::is_loss(error)) throw gpu::DeviceLost(error, "at " + which);
  gpu::throw_cuda_error(error, which + " on the GPU");
}

void GpuExecutor::time_next(std::int64_t steps, OnTimes on_times) {
  to_time_ = steps;
  on_times_ = std::move(on_times);
}

std::int64_t GpuExecutor::kinds_of_steps() const {
  std::int64_t kinds = 0;
  for (const Shape& s : shapes_) kinds += static_cast<std::int64_t>(s.launches.size());
  return kinds;
}

std::vector<std::int64_t> GpuExecutor::operand_bytes() const {
  const Shape& s = shapes_.back();
  std::vector<std::int64_t> bytes;
  count_operands(*s.placed, s.contexts, bytes);
  return bytes;
}

void GpuExecutor::wait_for_step(std::int64_t n) {
  if (n > submitted_)
    throw InternalError("wait_for_step: step " + std::to_string(n) + " was never submitted");
  for (; reported_ < n; ++reported_) {
    const std::int64_t place = reported_ % ring;
    wait_for(done_[static_cast<std::size_t>(place)], reported_ + 1);
    throw_host_failure();
    if (device_.own_rules()) device_.own_rules()->require_finite();
    if (!shapes_.front().reports) continue;
    const std::byte* const report = reports_.as<std::byte>() + place * report_bytes_;
    const auto& r = *reinterpret_cast<const kernels::StepReport*>(report);
    StepScalarsReport out{r.loss_sum, r.target_count, r.norm2, r.applied_steps,
                          r.lr,       r.loss_scale,   {}};
    for (const Metric& m : metrics_) {
      const auto* const values = reinterpret_cast<const double*>(report + m.offset);
      out.metrics[m.name].assign(values,
                                 values + m.bytes / static_cast<std::int64_t>(sizeof(double)));
    }
    parts_.report(out);
  }
  if (n < submitted_ || !unfinished_) return;
  finish_step();
  settle(submitted_);
  throw_host_failure();
}

void GpuExecutor::settle(std::int64_t step) {
  require_step(cudaEventRecord(settled_, stream_), step);
  wait_for(settled_, step);
}

// Whether the GPU computes or waits for another's part of a sum cannot be told from here: that it
// moves, its beats tell.
void GpuExecutor::wait_for(cudaEvent_t event, std::int64_t step) {
  if (!parts_.progress) return require_step(cudaEventSynchronize(event), step);
  const comm::WaitsForPeers waits(*parts_.progress);
  cudaError_t error = cudaEventQuery(event);
  for (int round = 0; error == cudaErrorNotReady; ++round, error = cudaEventQuery(event)) {
    parts_.throw_failure();
    if (const std::int64_t beats = std::atomic_ref(*beats_).load(std::memory_order_relaxed);
        beats != std::exchange(heard_beats_, beats))
      ++parts_.progress->done;
    round < 100 ? std::this_thread::yield()
                : std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  require_step(error, step);
}

}  // namespace trainx::execute
