// What a step on one stream spends its time on: an event after each launch, also inside a CUDA
// graph.
#pragma once
#include <cuda_runtime_api.h>
#include <string>
#include <vector>
#include "core/work.hpp"
#include "gpu/resources.hpp"

namespace trainx::gpu {

/// What lay between two marks: the work, and the gap before it.
struct TimelineSpan {
  std::string instruction;  // "backward h3.mlp"
  Work work{};
  std::string detail;           // of a matrix product: its sizes
  double begin_ms = 0, ms = 0;  // since the first mark
};

class Timeline {
 public:
  /// Begins anew. `captured`: the marks become nodes of the graph that the stream is captured into;
  /// each of its replays sets them again.
  void begin(cudaStream_t stream, bool captured);
  void enter(std::string instruction) { instruction_ = std::move(instruction); }
  void mark(Work work, std::string detail = {});
  /// Once the stream is done. Throws GpuError.
  std::vector<TimelineSpan> spans() const;

 private:
  struct Mark {
    std::string instruction;
    Work work{};
    std::string detail;
  };
  void record();

  cudaStream_t stream_ = nullptr;
  bool captured_ = false;
  std::string instruction_;
  std::vector<Event> events_;  // one more than marks in use
  std::size_t used_ = 0;
  std::vector<Mark> marks_;
};

}  // namespace trainx::gpu
