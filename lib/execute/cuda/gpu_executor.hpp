// On a GPU: a program becomes a CUDA graph, captured from the same instructions that its first step
// runs one by one.
#pragma once
#include "core/work_queue.hpp"
#include "kernels/step/step_scalars.hpp"
#include "execute/cuda/gpu_device.hpp"
#include "execute/cuda/optimizer_launches.hpp"
#include "execute/cuda/stream_set.hpp"
#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <set>

namespace trainx::execute {

class GpuExecutor final : public Executor {
 public:
  GpuExecutor(GpuDevice& device, const std::vector<plan::PlacedProgram>& programs,
              ExecutorParts parts);
  ~GpuExecutor() override;
  void prepare_weights() override;
  /// Fills the step's batches in pinned memory and launches it; waits where it would be more than
  /// `ring` steps ahead. What the host updates behind it may be left to the next step's launch.
  void submit_step() override;
  /// Of the last one submitted until all of it is done.
  void wait_for_step(std::int64_t n) override;
  void wait_idle() override { wait_for_step(submitted_); }
  /// Also the first step, whose libraries are still loading: it is better left out. Where launches
  /// end elsewhere than steps, it is whole launches that are timed: a step at rest before them is
  /// not.
  void time_next(std::int64_t steps, OnTimes on_times) override;
  const std::vector<CapturedKernels>& captured_kernels() const override {
    return captured_kernels_;
  }
  std::int64_t kinds_of_steps() const override;
  std::vector<std::int64_t> operand_bytes() const override;

 private:
  static constexpr std::int64_t ring = 4;  // steps whose batches and reports the host may hold

  /// What is launched at once of a program: all of it from where its launches begin
  /// (program/launch.hpp); after a rest, what comes before that; before a rest, what is left.
  enum class Part : std::uint8_t { whole, head, tail };
  /// Of a shape and what its steps' batches need.
  struct Launch {
    // its first step ran: libraries have chosen and loaded what they use
    bool warm = false;
    bool attested = false;       // what a whole one launches was looked at
    gpu::GraphExec whole, head;  // where steps are replayed
    std::uint64_t tunings = 0;   // of the device when they were captured
  };
  /// A scalar of evaluation beside the loss, behind the StepReport.
  struct Metric {
    std::string name;
    program::Slot slot;
    std::int64_t offset = 0, bytes = 0;
  };
  struct Shape;
  /// An update that the host makes, when its turn comes in the stream.
  struct HostUpdate {
    GpuExecutor* executor = nullptr;
    const Shape* shape = nullptr;
    const program::Instruction* instruction = nullptr;
  };
  /// A transfer with the disk, which a thread of the executor's makes once its turn comes in the
  /// stream.
  struct DiskTransfer {
    GpuExecutor* executor = nullptr;
    const Shape* shape = nullptr;
    const program::Instruction* instruction = nullptr;
    // of the last one begun, among all of the executor's
    std::atomic<std::uint64_t> number = 0;
  };
  /// One of the programs with what is launched for it.
  struct Shape {
    const plan::PlacedProgram* placed = nullptr;
    std::size_t launch_begin = 0;  // program/launch.hpp
    const model::Blocks* blocks = nullptr;
    std::vector<program::LocalGroup> groups;
    std::optional<PlacedMemory> memory;
    std::unique_ptr<StreamSet> lanes;
    BlockContexts contexts;
    // and measures, of the first instruction of a run; the others have none
    std::map<const program::Instruction*, UpdateLaunch> updates;
    std::map<const program::Instruction*, HostUpdate> host_updates;
    std::map<const program::Instruction*, DiskTransfer> disk_transfers;
    std::map<const program::Instruction*, NormLaunch> norms;
    std::vector<std::int64_t> field_offsets;  // of each batch tensor in a micro-batch's record
    std::int64_t record_bytes = 0;            // of a micro-batch
    // a record each; of dp rank 0 fetches for all ranks, the others nothing
    std::vector<const program::Instruction*> fetches;
    // gathers of shards that rest in the ranks' memory (program/copied_gathers.hpp)
    std::set<const program::Instruction*> copied;
    bool reports = false;
    // position of the first instruction that changes a resident
    std::ptrdiff_t first_write = program::none;
    std::map<operations::BatchNeeds, Launch> launches;
  };

  void prepare(Shape& s);
  void place_metrics(const plan::PlacedProgram& placed);
  // its instructions, one after the other
  void issue(Shape& s, const operations::BatchNeeds& needs, gpu::Timeline* timeline, Part part);
  void issue(Shape& s, gpu::Timeline* timeline, std::size_t from, std::size_t to);  // by position
  /// What is to be launched for a step of this shape.
  Part next_part(Shape& s);
  /// Launches what the last step left.
  void finish_step();
  void launch(Shape& s, const operations::BatchNeeds& needs, Part part);
  void launch_timed(Shape& s, const operations::BatchNeeds& needs);
  /// Throws GpuError 69 that names the steps on their way, the last of them the `last` that was
  /// submitted, counted from 1.
  void require_step(cudaError_t error, std::int64_t last) const;
  [[noreturn]] void throw_step_failed(cudaError_t error, std::int64_t last) const;
  gpu::Graph capture(Shape& s, const operations::BatchNeeds& needs, gpu::Timeline* timeline,
                     Part part);
  void attest(const Shape& s, const operations::BatchNeeds& needs, cudaGraph_t graph);
  gpu::GraphExec instantiate(cudaGraph_t graph);
  void execute(Shape& s, const program::Instruction& i, cudaStream_t stream);
  void fetch_batch(const Shape& s, const program::Instruction& i);
  void communicate(const Shape& s, const program::Instruction& i, cudaStream_t stream);
  /// A gather without the others' part in it, by the GPU's copy engines.
  void copy_shards(const Shape& s, const program::Instruction& i, cudaStream_t stream);
  // On a thread of the driver's, which may have but one for all streams: what waits there holds up
  // the others.
  static void make_host_update(void* host_update);
  static void begin_disk_transfer(void* disk_transfer);
  static void wait_for_disk_transfer(void* disk_transfer);
  static void wait_for_all_disk_transfers(void* executor);
  /// Unless one has failed before.
  void on_host(const std::function<void()>& work);
  void throw_host_failure();
  /// Until the event has come, or the run has failed on another rank, whose part of a collective
  /// never will.
  void wait_for(cudaEvent_t event, std::int64_t step);
  /// Until all that was launched is done.
  void settle(std::int64_t step);
  kernels::StepScalars report_scalars(const Shape& s, const program::Instruction& i) const;

  GpuDevice& device_;
  cudaStream_t stream_;
  bool replays_;   // steps as CUDA graphs
  bool captures_;  // steps, at least to see what they launch
  ExecutorParts parts_;
  std::vector<Shape> shapes_;
  DeviceTables tables_;
  std::byte* staged_ = nullptr;  // device: the batches of the step that runs
  gpu::PinnedMemory pinned_;     // host: `ring` times the batches of a step
  std::int64_t staged_bytes_ = 0;
  std::vector<Metric> metrics_;                              // of all programs alike
  std::int64_t report_bytes_ = sizeof(kernels::StepReport);  // with the metrics
  std::byte* report_ = nullptr;                              // device
  gpu::PinnedMemory reports_;                                // [ring]
  std::array<gpu::Event, ring> done_;  // of the step in each place of the ring
  gpu::Event settled_;
  // counted up by the GPU in each micro-step; null: there is one rank
  gpu::PinnedMemory beats_memory_;
  std::int64_t* beats_ = nullptr;
  std::int64_t heard_beats_ = 0;
  std::int64_t submitted_ = 0, reported_ = 0;
  // of the last step submitted, where its tail is left to the next launch
  Shape* unfinished_ = nullptr;
  std::int64_t to_time_ = 0;
  OnTimes on_times_;
  std::vector<CapturedKernels> captured_kernels_;  // of each graph, in the order of their captures
  gpu::Timeline timeline_;
  std::mutex host_mutex_;
  // of the first update on the host or transfer with the disk that failed; after it none is made
  std::exception_ptr host_failure_;
  std::unique_ptr<WorkQueue> transfers_;  // null: the programs have nothing on a disk
};

}  // namespace trainx::execute
