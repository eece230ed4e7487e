#pragma once
#include "gpu/nccl.hpp"
#include "gpu/peer_memory.hpp"
#include "gpu/power.hpp"
#include "gpu/resources.hpp"
#include "operations/common/gpu.hpp"
#include "operations/attention/torch_cuda.hpp"
#include "execute/cuda/async_download.hpp"
#include "execute/cuda/own_code_memory.hpp"
#include "execute/cuda/own_updates.hpp"
#include "execute/cuda/pinned_arena.hpp"
#include "execute/device.hpp"
#include <cstdint>
#include <map>

namespace trainx::execute {

/// "NVIDIA H200 0a1b2c...": the name and what no other GPU has. Throws GpuError as opening it does.
std::string gpu_identity(int local_rank);

/// This rank's GPU: the arena and the workspace in its memory, one stream, its libraries.
class GpuDevice final : public Device {
 public:
  GpuDevice(const plan::RunPlan& plan, const Ranks& ranks);
  ~GpuDevice() override;
  Arena& residents() override { return *residents_; }
  std::byte* host() const override {
    return shared_host_ ? shared_host_->data() : host_.as<std::byte>();
  }
  std::vector<program::Range> shared_pages(program::Space space) const override {
    return shared_host_ && space == program::Space::host ? shared_host_->shared()
                                                         : std::vector<program::Range>{};
  }
  bool can_share_pages() const override { return !shared_host_ || PinnedArena::can_share_pages(); }
  void pin_shared_pages(bool for_reading_alone) override {
    if (shared_host_) shared_host_->pin_shared(for_reading_alone);
  }
  void unpin_shared_pages() override {
    if (shared_host_) shared_host_->unpin_shared();
  }
  disk::Disk* disk() const override { return disk_.get(); }
  bool steps_change_residents() const override;
  void upload(const NotUploaded& parts) override;
  void download() override;
  void upload_part(std::span<const std::byte> part) override;
  bool has_own_memory() const override { return true; }
  void draw(std::span<const InitialPart> parts) override;
  void keep(std::span<std::byte> part) override;
  void download_part(std::span<std::byte> part) override;
  void begin_download() override;
  void expect_downloads() override;
  double end_download() override;
  std::byte* memory() override { return arena_; }
  void compute(const std::function<void()>& work) override;
  std::unique_ptr<Executor> make_executor(const std::vector<plan::PlacedProgram>& programs,
                                          ExecutorParts parts) override;
  std::int64_t arena_bytes() const override { return arena_bytes_; }
  // nothing is given back before the end
  std::int64_t peak_bytes() const override { return taken_; }
  std::int64_t process_bytes() const override;
  PowerReading power() const override { return meter_->read(); }
  MemoryErrors memory_errors() const override { return meter_->memory_errors(); }
  bool is_lost() const override { return gpu::loss_of_device().has_value(); }
  int tune() override;
  std::string name() const override { return name_; }

  const operations::Gpu& ops() const { return ops_; }
  /// Null: there is one rank.
  const gpu::NcclCommunicator* nccl(program::AxisSet along) const {
    const auto found = groups_.find(plan_.mesh.significant(along));
    return found != groups_.end() ? found->second.get() : nccl_.get();
  }
  /// The other ranks' memory(), laid out as this one's: residents lie at the same place. Null where
  /// it cannot be reached.
  const gpu::PeerMemory* peers() const { return peers_.get(); }
  const plan::RunPlan& plan() const { return plan_; }
  bool has_own_modules() const { return has_own_modules_; }
  /// Null: the optimizer is trainx's, or updates nothing here.
  const OwnRules* own_rules() const { return own_rules_.get(); }
  bool runs_own_code() const { return has_own_modules_ || own_rules_; }
  /// Bytes allocated on the GPU so far; whoever allocates beside the arena adds to it.
  std::int64_t& taken() { return taken_; }
  /// What is launched on `stream` from here on may write to residents: not before a download that
  /// has begun has read them.
  void hold_for_download(cudaStream_t stream) const {
    if (beside_) beside_->hold(stream);
  }
  /// How often tune() changed what is launched: graphs captured before are out of date.
  std::uint64_t tunings() const { return tunings_; }

 private:
  const plan::RunPlan& plan_;
  const plan::RankRole& role_;
  std::string name_;
  std::int64_t arena_bytes_ = 0, workspace_bytes_ = 0;
  std::int64_t taken_ = 0;
  // in the order in which they are given back, last first: the stream's work uses the memory
  gpu::Stream stream_;
  gpu::DeviceMemory arena_memory_, workspace_, counters_;
  std::byte* arena_ = nullptr;
  gpu::PinnedMemory host_;
  // instead, where the ranks of a host share pages of it; else null
  std::unique_ptr<PinnedArena> shared_host_;
  std::unique_ptr<disk::Disk> disk_;
  std::unique_ptr<Arena> residents_;
  std::vector<Range> downloaded_;          // of residents(): all but constants
  std::unique_ptr<AsyncDownload> beside_;  // null: no downloads are expected
  std::unique_ptr<gpu::Gemm> gemm_;
  std::unique_ptr<gpu::Attention> attention_;
  // at the workspace's end; null: neither modules nor a rule of the user's own allocate there
  std::unique_ptr<OwnCodeMemory> own_memory_;
  bool has_own_modules_ = false;
  // where LibTorch computes attention, in the workspace, or such code
  std::unique_ptr<operations::cuda::TorchCuda> torch_;
  std::unique_ptr<OwnRules> own_rules_;
  std::unique_ptr<gpu::PowerMeter> meter_;
  std::unique_ptr<gpu::NcclCommunicator> nccl_;
  // of fewer ranks, by Mesh::significant
  std::map<program::AxisSet, std::unique_ptr<gpu::NcclCommunicator>> groups_;
  std::unique_ptr<gpu::PeerMemory> peers_;
  std::uint64_t tunings_ = 0;
  operations::Gpu ops_;

  void open_libtorch();
  /// Where a place of residents() lies in the arena; places of host() are the GPU's as they are.
  template <class T>
  T* in_arena(T* place) const;
};

}  // namespace trainx::execute
