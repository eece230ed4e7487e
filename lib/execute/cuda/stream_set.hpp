// What runs beside a GPU's computation: copies to and from the host, updates that the host makes,
// and collectives. Each such lane is a stream, and waits become events.
#pragma once
#include "gpu/resources.hpp"
#include "gpu/timeline.hpp"
#include "plan/run_plan.hpp"
#include "execute/step_times.hpp"
#include <cuda_runtime_api.h>
#include <array>
#include <functional>
#include <memory>

namespace trainx::execute {

/// Of one program. Each launch (program/launch.hpp), or a part of one, forks the lanes off the
/// compute stream and joins them to it, so that launches never overlap and can be captured.
class StreamSet {
 public:
  StreamSet(const plan::PlacedProgram& placed, cudaStream_t compute);

  /// `timed`: copies are timed as well; `captured`: into a graph.
  void fork(bool timed, bool captured);
  /// Lets a stream wait until a transfer with the disk is made. In the disk's own stream they are
  /// only begun, one after the other.
  using WaitForTransfer = std::function<void(int position, cudaStream_t stream)>;
  /// Does the instruction at this position wait for another lane of its launch?
  bool waits(int position) const;
  /// The stream of the instruction at this position, which waits for what it has to.
  cudaStream_t enter(int position, const WaitForTransfer& wait_for_transfer);
  /// To be called when it was launched, with what it is called.
  void leave(int position, const std::string& name);
  void join();
  /// Null where the program has nothing in that lane.
  cudaStream_t stream(program::Lane lane) const {
    return stream_of(lane) ? cudaStream_t(stream_of(lane)->stream) : nullptr;
  }
  /// Once the step is done.
  std::vector<StepSpan> spans() const;

 private:
  struct Place {
    program::Lane lane{};
    gpu::Event done;  // where another lane waits for it
    // since the lanes were forked; what was launched before that is done
    bool launched = false;
    std::vector<int> waits;  // for whom, by position
  };
  struct Stream {
    gpu::Stream stream;
    gpu::Event joined;
    gpu::Timeline timeline;
  };
  Stream* stream_of(program::Lane lane) const {
    return streams_[static_cast<std::size_t>(lane)].get();
  }
  cudaStream_t compute_;
  // null where the program has nothing there
  std::array<std::unique_ptr<Stream>, program::lane_count> streams_;
  std::vector<Place> places_;  // by position; empty where all is on the compute stream
  gpu::Event forked_;
  bool timed_ = false;
};

}  // namespace trainx::execute
