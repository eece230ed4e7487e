#include "disk/disk.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "core/units.hpp"

namespace trainx::disk {

Disk::Disk(const std::string& folder, std::int64_t bytes, std::unique_ptr<BlockIo> io)
    : file_(folder, (bytes + block_bytes - 1) / block_bytes * block_bytes), io_(std::move(io)) {
  if (!io_) io_ = make_uring_io(file_.descriptor());
  if (!io_) io_ = make_thread_io();
}

void Disk::try_memory(std::byte* memory) {
  if (!file_.is_direct() ||
      io_->move({Transfer::read, file_.descriptor(), 0, memory, block_bytes}) == 0)
    return;
  file_.make_buffered();
  why_buffered_ = "as direct I/O does not reach pinned memory here";
}

void Disk::move(Transfer transfer) {
  transfer.bytes = (transfer.bytes + block_bytes - 1) / block_bytes * block_bytes;
  if (transfer.offset % block_bytes != 0 ||
      reinterpret_cast<std::uintptr_t>(transfer.memory) % block_bytes != 0 ||
      transfer.offset + transfer.bytes > file_.bytes())
    throw InternalError("a transfer of " + std::to_string(transfer.bytes) + " bytes at " +
                        std::to_string(transfer.offset) +
                        " is not one of whole blocks of a file of " +
                        std::to_string(file_.bytes()));
  const std::lock_guard lock(mutex_);
  if (const int error = io_->move(transfer); error != 0)
    throw UserError(ExitCode::io_error,
                    std::string("memory.optimizer_offload.folder: ") +
                        (transfer.direction == Transfer::read ? "reading from" : "writing to") +
                        " the file in " + file_.folder() + " failed: " + errno_words(error) +
                        "; the last checkpoint is untouched: mend the disk or name another folder, "
                        "and run the same command again");
}

std::string Disk::describe() const {
  return human_bytes(file_.bytes()) + " of " + file_.folder() + ", " +
         (file_.is_direct() ? "direct I/O by "
                            : "through the page cache, " + why_buffered_ + ", by ") +
         io_->name();
}

}  // namespace trainx::disk
