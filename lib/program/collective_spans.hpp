// What a computation loses to collectives and copies between GPUs beside it.
#pragma once
#include <algorithm>
#include <cstddef>
#include <vector>

namespace trainx::program {

/// When they run, in the order of time, and the share of its speed that a computation loses then.
class CollectiveSpans {
 public:
  /// Later than those before; `slows` is below 1.
  void add(double begin, double end, double slows) {
    if (end > begin && slows > 0) spans_.push_back({begin, end, slows});
  }

  /// When a computation ends that takes `duration` beside nothing. Ascending begins.
  double end_of(double begin, double duration) {
    while (first_ < spans_.size() && spans_[first_].end <= begin) ++first_;
    double at = begin, left = duration;
    for (std::size_t k = first_; k < spans_.size(); ++k) {
      const double free = std::max(0.0, spans_[k].begin - at);
      if (left <= free) break;
      left -= free;
      at = std::max(at, spans_[k].begin);
      const double speed = 1 - spans_[k].slows, beside = (spans_[k].end - at) * speed;
      if (left <= beside) return at + left / speed;
      left -= beside;
      at = spans_[k].end;
    }
    return at + left;
  }

 private:
  struct Span {
    double begin, end, slows;
  };
  std::vector<Span> spans_;
  std::size_t first_ = 0;  // that may end behind the last begin
};

}  // namespace trainx::program
