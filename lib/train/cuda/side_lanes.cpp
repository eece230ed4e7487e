#include "train/cuda/side_lanes.hpp"
#include "gpu/gpu_error.hpp"
#include <algorithm>

namespace trainx::train {

using namespace program;
using gpu::require;

bool SideLanes::is_beside(const Instruction& i) {
  return i.lane == Lane::communication || i.lane == Lane::host || i.lane == Lane::disk || (i.op == Op::copy && (i.lane == Lane::copy_in || i.lane == Lane::copy_out));
}

SideLanes::SideLanes(const plan::PlacedProgram& placed, cudaStream_t compute) : compute_(compute) {
  StepProgram p = placed.program;
  for (Instruction& i : p.steady) {
    if (!is_beside(i)) i.lane = Lane::compute;
    else if (auto& stream = streams_[static_cast<std::size_t>(i.lane)]; !stream) stream = std::make_unique<Stream>();
  }
  if (std::ranges::none_of(streams_, [](const auto& s) { return s != nullptr; })) return;
  // Sums that are ready go before the rest of backward: what waits for them is behind it.
  int lowest = 0, highest = 0;
  require(cudaDeviceGetStreamPriorityRange(&lowest, &highest), "priorities of streams");
  for (std::size_t lane = 0; lane < streams_.size(); ++lane)
    if (auto& s = streams_[lane]) {
      require(cudaStreamCreateWithPriority(&s->stream, cudaStreamNonBlocking, static_cast<Lane>(lane) == Lane::communication ? highest : lowest), "stream of a lane");
      s->joined = make_event();
    }
  forked_ = make_event();
  const Order order = derive_order(p, placed.placement);   // on these lanes
  std::array<std::vector<std::size_t>, lane_count> in_lane;
  for (std::size_t k = 0; k < p.steady.size(); ++k) {
    in_lane[static_cast<std::size_t>(p.steady[k].lane)].push_back(k);
    places_.push_back({p.steady[k].lane, nullptr, {}, {}});
  }
  for (std::size_t k = 0; k < p.steady.size(); ++k)
    for (const Wait& w : order.steady[k]) {
      if (w.back > 0) continue;         // the step before, which was joined
      const std::size_t position = in_lane[static_cast<std::size_t>(w.lane)].at(static_cast<std::size_t>(w.index));
      Place& other = places_[position];
      if (!other.done) other.done = make_event();
      places_[k].waits.push_back(other.done);
      if (w.lane == Lane::disk) places_[k].transfers.push_back(static_cast<int>(position));
    }
}

SideLanes::~SideLanes() {
  for (auto& s : streams_)
    if (s && s->stream) cudaStreamDestroy(s->stream);
  for (cudaEvent_t e : events_) cudaEventDestroy(e);
}

cudaEvent_t SideLanes::make_event() {
  cudaEvent_t event = nullptr;
  require(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "event of a lane");
  events_.push_back(event);
  return event;
}

void SideLanes::fork(bool timed, bool captured) {
  timed_ = timed;
  if (places_.empty()) return;
  require(cudaEventRecord(forked_, compute_), "lanes of a step");
  for (auto& s : streams_) {
    if (!s) continue;
    require(cudaStreamWaitEvent(s->stream, forked_, 0), "lanes of a step");
    if (timed) s->timeline.begin(s->stream, captured);
  }
}

bool SideLanes::waits(int position) const { return !places_.empty() && !places_[static_cast<std::size_t>(position)].waits.empty(); }

cudaStream_t SideLanes::enter(int position, const WaitForTransfer& wait_for_transfer) {
  if (places_.empty()) return compute_;
  const Place& place = places_[static_cast<std::size_t>(position)];
  Stream* const beside = stream_of(place.lane);
  const cudaStream_t stream = beside ? beside->stream : compute_;
  for (cudaEvent_t e : place.waits) require(cudaStreamWaitEvent(stream, e, 0), "wait between lanes");
  for (const int transfer : place.transfers) wait_for_transfer(transfer, stream);
  if (beside && timed_) beside->timeline.mark(Work::other);   // what it waited for
  return stream;
}

void SideLanes::leave(int position, const std::string& name) {
  if (places_.empty()) return;
  const Place& place = places_[static_cast<std::size_t>(position)];
  Stream* const beside = stream_of(place.lane);
  if (beside && timed_) {
    beside->timeline.enter(name);
    beside->timeline.mark(place.lane == Lane::communication ? Work::communication : place.lane == Lane::host ? Work::optimizer : Work::copy);
  }
  if (place.done) require(cudaEventRecord(place.done, beside ? beside->stream : compute_), "end of an instruction");
}

void SideLanes::join() {
  for (auto& s : streams_) {
    if (!s) continue;
    require(cudaEventRecord(s->joined, s->stream), "lanes of a step");
    require(cudaStreamWaitEvent(compute_, s->joined, 0), "lanes of a step");
  }
}

std::vector<StepSpan> SideLanes::spans() const {
  std::vector<StepSpan> out;
  for (std::size_t lane = 0; lane < streams_.size(); ++lane) {
    if (!streams_[lane]) continue;
    for (gpu::TimelineSpan& span : streams_[lane]->timeline.spans())
      if (span.work != Work::other) out.push_back({std::move(span.instruction), span.work, std::move(span.detail), static_cast<Lane>(lane), span.begin_ms, span.ms});
  }
  return out;
}

}  // namespace trainx::train
