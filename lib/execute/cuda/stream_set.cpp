#include "execute/cuda/stream_set.hpp"
#include "gpu/gpu_error.hpp"
#include "program/launch.hpp"
#include <algorithm>

namespace trainx::execute {

using namespace program;
using gpu::require;

StreamSet::StreamSet(const plan::PlacedProgram& placed, cudaStream_t compute) : compute_(compute) {
  StepProgram p = placed.program;
  for (const Instruction& i : p.steady)
    if (auto& stream = streams_[static_cast<std::size_t>(i.lane)]; runs_async(i) && !stream)
      stream = std::make_unique<Stream>();
  if (std::ranges::none_of(streams_, [](const auto& s) { return s != nullptr; })) return;
  // Sums that are ready go before the rest of backward: what waits for them is behind it.
  int lowest = 0, highest = 0;
  require(cudaDeviceGetStreamPriorityRange(&lowest, &highest), "priorities of streams");
  for (std::size_t lane = 0; lane < streams_.size(); ++lane)
    if (auto& s = streams_[lane]) {
      s->stream = gpu::make_stream(
          "stream of a lane", static_cast<Lane>(lane) == Lane::communication ? highest : lowest);
      s->joined = gpu::make_event("event of a lane");
    }
  forked_ = gpu::make_event("event of a lane");
  places_.resize(p.steady.size());
  for (std::size_t k = 0; k < p.steady.size(); ++k) places_[k].lane = p.steady[k].lane;
  const std::size_t begin = launch_begin(p);
  // as launches go
  std::ranges::rotate(p.steady, p.steady.begin() + static_cast<std::ptrdiff_t>(begin));
  const Order order = derive_order(p, placed.placement);
  const auto position_of = [&](std::size_t k) { return (k + begin) % places_.size(); };
  std::array<std::vector<std::size_t>, lane_count> in_lane;
  for (std::size_t k = 0; k < p.steady.size(); ++k)
    in_lane[static_cast<std::size_t>(p.steady[k].lane)].push_back(position_of(k));
  for (std::size_t k = 0; k < p.steady.size(); ++k)
    for (const Wait& w : order.steady[k]) {
      if (w.back > 0) continue;  // the launch before, which was joined
      const std::size_t position =
          in_lane[static_cast<std::size_t>(w.lane)].at(static_cast<std::size_t>(w.index));
      if (!places_[position].done) places_[position].done = gpu::make_event("event of a lane");
      places_[position_of(k)].waits.push_back(static_cast<int>(position));
    }
}

void StreamSet::fork(bool timed, bool captured) {
  timed_ = timed;
  if (places_.empty()) return;
  for (Place& place : places_) place.launched = false;
  require(cudaEventRecord(forked_, compute_), "lanes of a step");
  for (auto& s : streams_) {
    if (!s) continue;
    require(cudaStreamWaitEvent(s->stream, forked_, 0), "lanes of a step");
    if (timed) s->timeline.begin(s->stream, captured);
  }
}

bool StreamSet::waits(int position) const {
  return !places_.empty() && !places_[static_cast<std::size_t>(position)].waits.empty();
}

cudaStream_t StreamSet::enter(int position, const WaitForTransfer& wait_for_transfer) {
  if (places_.empty()) return compute_;
  const Place& place = places_[static_cast<std::size_t>(position)];
  Stream* const beside = stream_of(place.lane);
  const cudaStream_t stream = beside ? cudaStream_t(beside->stream) : compute_;
  for (const int earlier : place.waits) {
    const Place& other = places_[static_cast<std::size_t>(earlier)];
    if (!other.launched) continue;
    require(cudaStreamWaitEvent(stream, other.done, 0), "wait between lanes");
    if (other.lane == Lane::disk) wait_for_transfer(earlier, stream);
  }
  if (beside && timed_) beside->timeline.mark(Work::wait);
  return stream;
}

void StreamSet::leave(int position, const std::string& name) {
  if (places_.empty()) return;
  Place& place = places_[static_cast<std::size_t>(position)];
  place.launched = true;
  Stream* const beside = stream_of(place.lane);
  if (beside && timed_) {
    beside->timeline.enter(name);
    beside->timeline.mark(place.lane == Lane::communication ? Work::communication
                          : place.lane == Lane::host        ? Work::optimizer
                                                            : Work::copy);
  }
  if (place.done)
    require(cudaEventRecord(place.done, beside ? cudaStream_t(beside->stream) : compute_),
            "end of an instruction");
}

void StreamSet::join() {
  for (auto& s : streams_) {
    if (!s) continue;
    require(cudaEventRecord(s->joined, s->stream), "lanes of a step");
    require(cudaStreamWaitEvent(compute_, s->joined, 0), "lanes of a step");
  }
}

std::vector<StepSpan> StreamSet::spans() const {
  std::vector<StepSpan> out;
  for (std::size_t lane = 0; lane < streams_.size(); ++lane) {
    if (!streams_[lane]) continue;
    for (gpu::TimelineSpan& span : streams_[lane]->timeline.spans())
      if (span.work != Work::wait)
        out.push_back({std::move(span.instruction), span.work, std::move(span.detail),
                       static_cast<Lane>(lane), span.begin_ms, span.ms});
  }
  return out;
}

}  // namespace trainx::execute
