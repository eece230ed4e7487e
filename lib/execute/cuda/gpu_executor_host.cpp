// What the host does in a step on a GPU: updates and transfers with the disk, each when its turn
// comes in a stream.
#include "execute/cuda/gpu_executor.hpp"
#include "program/operations.hpp"
#include "execute/host_update.hpp"
#include <ATen/core/grad_mode.h>

namespace trainx::execute {

using namespace program;

void GpuExecutor::make_host_update(void* host_update) {
  const HostUpdate& update = *static_cast<const HostUpdate*>(host_update);
  GpuExecutor& e = *update.executor;
  const Shape& s = *update.shape;
  e.on_host([&] {
    const at::NoGradGuard no_grad;
    update_on_host(
        *s.placed, *update.instruction,
        s.groups[static_cast<std::size_t>(update.instruction->group)],
        [&](const Use& u) { return s.memory->address(u); }, e.parts_);
  });
}

void GpuExecutor::on_host(const std::function<void()>& work) {
  try {
    {
      const std::lock_guard lock(host_mutex_);
      if (host_failure_) return;
    }
    work();
    // beside what the GPU beats: updates and transfers of a step may take long
    if (parts_.progress) ++parts_.progress->done;
  } catch (const std::exception&) {
    const std::lock_guard lock(host_mutex_);
    if (!host_failure_) host_failure_ = std::current_exception();
  }
}

void GpuExecutor::begin_disk_transfer(void* disk_transfer) {
  DiskTransfer& transfer = *static_cast<DiskTransfer*>(disk_transfer);
  GpuExecutor& e = *transfer.executor;
  const Shape& s = *transfer.shape;
  e.on_host([&] {
    const Use &from = use_of(*transfer.instruction, CopySlot::from),
              &to = use_of(*transfer.instruction, CopySlot::to);
    const bool reads_disk =
        s.placed->program.buffers[static_cast<std::size_t>(from.buffer)].space == Space::disk;
    const std::int64_t bytes = s.memory->bytes(from),
                       offset =
                           s.placed->placement
                               .base[static_cast<std::size_t>((reads_disk ? from : to).buffer)];
    std::byte* const memory = s.memory->address(reads_disk ? to : from);
    transfer.number =
        e.transfers_->add([disk = e.device_.disk(), reads_disk, offset, memory, bytes] {
          reads_disk ? disk->read(offset, memory, bytes) : disk->write(offset, memory, bytes);
        });
  });
}

void GpuExecutor::wait_for_disk_transfer(void* disk_transfer) {
  DiskTransfer& transfer = *static_cast<DiskTransfer*>(disk_transfer);
  transfer.executor->on_host([&] { transfer.executor->transfers_->wait_for(transfer.number); });
}

void GpuExecutor::wait_for_all_disk_transfers(void* executor) {
  GpuExecutor& e = *static_cast<GpuExecutor*>(executor);
  e.on_host([&] { e.transfers_->wait_for_all(); });
}

void GpuExecutor::throw_host_failure() {
  const std::lock_guard lock(host_mutex_);
  if (host_failure_) std::rethrow_exception(host_failure_);
}

}  // namespace trainx::execute
