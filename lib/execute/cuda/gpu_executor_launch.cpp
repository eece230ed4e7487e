// What is launched for a step on a GPU: its instructions one by one, or a CUDA graph of them, whole
// or a part.
#include "execute/cuda/gpu_executor.hpp"
#include "gpu/captured_step.hpp"
#include "gpu/gpu_error.hpp"
#include "operations/common/gpu_scope.hpp"
#include <ATen/core/grad_mode.h>
#include <algorithm>
#include <utility>

namespace trainx::execute {

using namespace program;
using gpu::require;

void GpuExecutor::prepare_weights() {
  const at::NoGradGuard no_grad;
  const operations::Gpu gpu = device_.ops();
  const operations::GpuScope scope(gpu);
  Shape& s = shapes_.front();
  for (const Instruction& i : s.placed->program.once) execute(s, i, stream_);
  require(cudaStreamSynchronize(stream_), "casts of weights");
}

GpuExecutor::Part GpuExecutor::next_part(Shape& s) {
  if (s.launch_begin == 0) return Part::whole;
  if (unfinished_ == &s) return Part::whole;
  finish_step();  // of another shape, whose bytes lie elsewhere
  unfinished_ = &s;
  return Part::head;
}

void GpuExecutor::finish_step() {
  if (Shape* const s = std::exchange(unfinished_, nullptr)) issue(*s, {}, nullptr, Part::tail);
}

// The first step is not captured: libraries choose, plan and load in it.
void GpuExecutor::launch(Shape& s, const operations::BatchNeeds& needs, Part part) {
  Launch& l = s.launches[needs];
  if (!l.warm) {
    issue(s, needs, nullptr, part);
    settle(submitted_ + 1);
    l.warm = true;
    return;
  }
  if (l.whole && l.tunings != device_.tunings()) {
    settle(submitted_);
    l.whole = gpu::GraphExec();
    l.head = gpu::GraphExec();
    l.attested = false;
  }
  if (captures_ && !std::exchange(l.attested, true)) {
    const gpu::Graph graph = capture(s, needs, nullptr, Part::whole);
    attest(s, needs, graph);
    if (replays_) l.whole = instantiate(graph);
    l.tunings = device_.tunings();
  }
  if (!replays_) return issue(s, needs, nullptr, part);
  if (part == Part::head && !l.head) l.head = instantiate(capture(s, needs, nullptr, Part::head));
  require_step(cudaGraphLaunch(part == Part::head ? l.head : l.whole, stream_), submitted_ + 1);
}

void GpuExecutor::launch_timed(Shape& s, const operations::BatchNeeds& needs) {
  --to_time_;
  if (Launch& l = s.launches[needs]; !l.warm || !replays_) {
    issue(s, needs, &timeline_, Part::whole);
    l.warm = true;
    settle(submitted_ + 1);
  } else {
    const gpu::GraphExec graph = instantiate(capture(s, needs, &timeline_, Part::whole));
    require_step(cudaGraphLaunch(graph, stream_), submitted_ + 1);
    settle(submitted_ + 1);
  }
  StepTimes times;
  for (gpu::TimelineSpan& span : timeline_.spans()) {
    times.ms = span.begin_ms + span.ms;
    times.spans.push_back({std::move(span.instruction), span.work, std::move(span.detail),
                           Lane::compute, span.begin_ms, span.ms});
  }
  for (StepSpan& span : s.lanes->spans()) times.spans.push_back(std::move(span));
  // updates on the host end after all else
  for (const StepSpan& span : times.spans) times.ms = std::max(times.ms, span.begin_ms + span.ms);
  on_times_(times);
}

gpu::Graph GpuExecutor::capture(Shape& s, const operations::BatchNeeds& needs,
                                gpu::Timeline* timeline, Part part) {
  require(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), "capture of the step");
  cudaGraph_t graph = nullptr;
  const auto give_up = [&] {
    cudaStreamEndCapture(stream_, &graph);
    cudaGetLastError();
    const gpu::Graph unfinished(graph);
  };
  try {
    issue(s, needs, timeline, part);
  } catch (const UserError& e) {
    give_up();
    // code of the user's own did what it had not done when it was measured
    if (!device_.runs_own_code() || dynamic_cast<const gpu::DeviceLost*>(&e)) throw;
    throw UserError(e.code(), std::string(e.what()) +
                                  "; run.execution: eager launches steps one by one, without a "
                                  "CUDA graph");
  } catch (const std::exception&) {
    give_up();
    throw;
  }
  require(cudaStreamEndCapture(stream_, &graph), "capture of the step");
  return gpu::Graph(graph);
}

void GpuExecutor::attest(const Shape& s, const operations::BatchNeeds& needs, cudaGraph_t graph) {
  gpu::CapturedStep step = gpu::read_graph(graph);
  captured_kernels_.push_back(
      {replays_, static_cast<std::size_t>(&s - shapes_.data()), std::move(step.kernels),
       step.copies, step.copied_bytes, step.bytes_to_host, step.bytes_from_host, step.memsets,
       step.host_functions[&GpuExecutor::make_host_update], needs.target_rows});
}

gpu::GraphExec GpuExecutor::instantiate(cudaGraph_t graph) {
  cudaGraphExec_t made = nullptr;
  require(cudaGraphInstantiate(&made, graph, 0), "CUDA graph of the step");
  gpu::GraphExec owned(made);
  require(cudaGraphUpload(made, stream_), "CUDA graph of the step");
  return owned;
}

}  // namespace trainx::execute
