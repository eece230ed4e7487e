#include "disk/scratch_file.hpp"
#include "core/blocked_signals.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "core/units.hpp"
#include <fcntl.h>
#include <unistd.h>
#include <array>
#include <cerrno>

namespace trainx::disk {
namespace {

int open_nameless(const std::string& folder) {
  if (const int fd = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600); fd >= 0)
    return fd;
  // what file systems say that lack it (NFS)
  if (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL) return -1;
  // that end this process between the making of a name and its removal
  const BlockedSignals held;
  std::string name = folder + "/.trainx-offload-XXXXXX";
  const int fd = ::mkostemp(name.data(), O_CLOEXEC);
  if (fd >= 0) ::unlink(name.c_str());
  return fd;
}

/// Some file systems take the flag and refuse the transfers.
bool make_direct(int fd) {
  const int flags = ::fcntl(fd, F_GETFL);
  if (::fcntl(fd, F_SETFL, flags | O_DIRECT) != 0) return false;
  alignas(block_bytes) std::array<std::byte, block_bytes> block;
  if (::pread(fd, block.data(), block.size(), 0) == static_cast<ssize_t>(block.size())) return true;
  ::fcntl(fd, F_SETFL, flags);
  return false;
}

}  // namespace

ScratchFile::ScratchFile(const std::string& folder, std::int64_t bytes)
    : folder_(folder), bytes_(bytes), file_(open_nameless(folder)) {
  if (!file_.is_open())
    throw UserError(ExitCode::cannot_create,
                    "memory.optimizer_offload.folder: no file can be made in " + folder + ": " +
                        errno_words(errno) + "; write a folder that you may write to");
  int error = 0;
  do error = ::posix_fallocate(file_.get(), 0, bytes);
  while (error == EINTR);
  if (error == EFBIG)
    throw UserError(
        ExitCode::out_of_memory,
        "memory.optimizer_offload.folder: files in " + folder + " may not grow to " +
            human_bytes(bytes) +
            " (ulimit -f, or the file system's limit); raise the limit, or name another folder");
  if (error == ENOSPC || error == EDQUOT)
    throw UserError(ExitCode::out_of_memory,
                    "memory.optimizer_offload.folder: the run needs " + human_bytes(bytes) +
                        " in " + folder + ", where " + human_bytes(free_disk_bytes(folder)) +
                        " are free; make room, or name a folder on another disk");
  if (error != 0)
    throw UserError(ExitCode::io_error, "memory.optimizer_offload.folder: " + human_bytes(bytes) +
                                            " cannot be set aside in " + folder + ": " +
                                            errno_words(error) + "; name a folder on another disk");
  direct_ = make_direct(file_.get());
}

void ScratchFile::make_buffered() {
  ::fcntl(file_.get(), F_SETFL, ::fcntl(file_.get(), F_GETFL) & ~O_DIRECT);
  direct_ = false;
}

}  // namespace trainx::disk
