// Where a run keeps what has no room in memory.
#pragma once
#include "disk/block_io.hpp"
#include "disk/scratch_file.hpp"
#include <cstdint>
#include <mutex>

namespace trainx::disk {

class Disk {
 public:
  /// Throws UserError as ScratchFile does. `io`: who moves the blocks; null: io_uring where it can
  /// be had, else threads.
  Disk(const std::string& folder, std::int64_t bytes, std::unique_ptr<BlockIo> io = nullptr);
  /// Whether direct transfers reach this memory, of a block at least, which not all of a driver's
  /// does; else they go through the page cache from now on. Before anything else is written.
  void try_memory(std::byte* memory);
  /// Memory and offset begin on blocks, and the last block is moved whole. Returns when it is done;
  /// throws UserError 74 where the disk fails. From any thread.
  void read(std::int64_t offset, std::byte* to, std::int64_t bytes) {
    move({Transfer::read, file_.descriptor(), offset, to, bytes});
  }
  void write(std::int64_t offset, const std::byte* from, std::int64_t bytes) {
    move({Transfer::write, file_.descriptor(), offset, const_cast<std::byte*>(from), bytes});
  }
  /// "1.2 GiB of /scratch, direct I/O by io_uring"; where it is not direct, why.
  std::string describe() const;
  bool is_direct() const { return file_.is_direct(); }

 private:
  void move(Transfer transfer);

  ScratchFile file_;
  std::unique_ptr<BlockIo> io_;
  std::string why_buffered_ = "as its file system has no direct I/O";
  std::mutex mutex_;  // held while io_ moves
};

}  // namespace trainx::disk
