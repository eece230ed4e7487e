#include "gpu/timeline.hpp"

namespace trainx::gpu {

void Timeline::begin(cudaStream_t stream, bool captured) {
  stream_ = stream;
  captured_ = captured;
  used_ = 0;
  marks_.clear();
  record();
}

void Timeline::mark(Work work, std::string detail) {
  marks_.push_back({instruction_, work, std::move(detail)});
  record();
}

void Timeline::record() {
  if (used_ == events_.size())
    events_.push_back(make_event("event of a timeline", EventTiming::on));
  require(cudaEventRecordWithFlags(events_[used_++], stream_,
                                   captured_ ? cudaEventRecordExternal : cudaEventRecordDefault),
          "event of a timeline");
}

std::vector<TimelineSpan> Timeline::spans() const {
  std::vector<TimelineSpan> out;
  double begin = 0;
  for (std::size_t i = 0; i < marks_.size(); ++i) {
    float ms = 0;
    require(cudaEventElapsedTime(&ms, events_[i], events_[i + 1]), "times of a step");
    out.push_back({marks_[i].instruction, marks_[i].work, marks_[i].detail, begin, ms});
    begin += ms;
  }
  return out;
}

}  // namespace trainx::gpu
