#include "execute/device.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "core/process_memory.hpp"
#include "plan/shared_weights.hpp"
#include "tensor/allocator_meter.hpp"
#include "execute/cpu_executor.hpp"
#include <array>
#ifdef TRAINX_CUDA
#include "gpu/measure_links.hpp"
#include "execute/cuda/gpu_device.hpp"
#endif

namespace trainx::execute {
namespace {

class CpuDevice final : public Device {
 public:
  CpuDevice(const plan::RunPlan& plan, const plan::RankRole& role)
      : threads_(plan.threads), arena_(role.memory.arena_bytes), disk_(make_disk(plan, role)) {
    if (role.memory.host_bytes > 0) host_.emplace(role.memory.host_bytes);
    for (const program::Space space : {program::Space::device, program::Space::host})
      shared_[static_cast<std::size_t>(space)] =
          plan::shared_pages(plan, role.train.front(), space);
  }
  Arena& residents() override { return arena_; }
  std::byte* host() const override { return host_ ? host_->data() : nullptr; }
  std::vector<program::Range> shared_pages(program::Space space) const override {
    return shared_.at(static_cast<std::size_t>(space));
  }
  disk::Disk* disk() const override { return disk_.get(); }
  bool steps_change_residents() const override { return true; }
  void upload(const NotUploaded&) override {}
  void download() override {}
  std::byte* memory() override { return arena_.data(); }
  void compute(const std::function<void()>& work) override { work(); }
  std::unique_ptr<Executor> make_executor(const std::vector<plan::PlacedProgram>& programs,
                                          ExecutorParts parts) override {
    return std::make_unique<CpuExecutor>(programs, arena_, std::move(parts), ExecutorHooks{},
                                         host_ ? &*host_ : nullptr, disk_.get());
  }
  std::int64_t arena_bytes() const override { return arena_.bytes(); }
  std::int64_t peak_bytes() const override {
    return arena_.bytes() + (host_ ? host_->bytes() : 0) + tensor::allocator_bytes().peak;
  }
  std::int64_t process_bytes() const override { return resident_bytes(); }
  std::string name() const override { return std::to_string(threads_) + " CPU threads"; }

 private:
  std::int64_t threads_;
  std::array<std::vector<program::Range>, program::space_count> shared_;
  Arena arena_;
  std::optional<Arena> host_;
  std::unique_ptr<disk::Disk> disk_;
};

}  // namespace

std::unique_ptr<disk::Disk> make_disk(const plan::RunPlan& plan, const plan::RankRole& role) {
  if (role.memory.disk_bytes == 0) return nullptr;
  const std::string folder = facts::offload_folder_of(plan.recipe);
  make_folders(folder);
  return std::make_unique<disk::Disk>(folder, role.memory.disk_bytes);
}

std::string device_identity([[maybe_unused]] const plan::RunPlan& plan,
                            [[maybe_unused]] int local_rank) {
#ifdef TRAINX_CUDA
  if (plan.on_gpu) return gpu_identity(local_rank);
#endif
  return "";
}

LinkRates measure_links() {
#ifdef TRAINX_CUDA
  return gpu::measure_links();
#else
  throw UserError(ExitCode::unavailable,
                  "this trainx was built without CUDA; build it where nvcc is");
#endif
}

std::unique_ptr<Device> open_device(const plan::RunPlan& plan, const Ranks& ranks) {
  if (!plan.on_gpu) return std::make_unique<CpuDevice>(plan, plan.role(ranks.rank()));
#ifdef TRAINX_CUDA
  return std::make_unique<GpuDevice>(plan, ranks);
#else
  throw UserError(ExitCode::unavailable,
                  "run.device is gpu, and this trainx was built without CUDA; build it where nvcc "
                  "is, or set run.device to cpu");
#endif
}

}  // namespace trainx::execute
