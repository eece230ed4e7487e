#include "core/error.hpp"
#include "core/files.hpp"
#include "core/same_file.hpp"
#include "core/restarted.hpp"
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>

namespace trainx {
namespace {

// "process 1234 on host": written by the holder, for the sentence only. The lock itself is the
// kernel's.
std::string holder_of(int fd) {
  char text[256];
  const ssize_t n = ::pread(fd, text, sizeof text, 0);
  std::string holder(text, n > 0 ? static_cast<std::size_t>(n) : 0);
  holder.resize(std::min(holder.size(), holder.find('\n')));
  return holder.empty() ? "another process" : holder;
}

}  // namespace

FolderLock::FolderLock(const std::string& folder) {
  const std::string path = folder + "/.lock";
  for (;;) {
    make_folders(folder);
    fd_ = restarted([&] { return ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666); });
    if (fd_ < 0) {
      if (errno == ENOENT) continue;
      throw UserError(ExitCode::cannot_create, "folder " + folder + " cannot be locked, as " +
                                                   path + " cannot be made: " + errno_words(errno));
    }
    if (::flock(fd_, LOCK_EX | LOCK_NB) != 0) {
      const int error = errno;
      const std::string holder = holder_of(fd_);
      ::close(fd_);
      if (error == EINTR) continue;
      if (error != EWOULDBLOCK)
        throw UserError(ExitCode::cannot_create,
                        "folder " + folder + " cannot be locked: " + errno_words(error));
      throw UserError(ExitCode::cannot_create,
                      "folder " + folder + " is in use by " + holder +
                          "; wait for it to end, stop it, or choose another output folder");
    }
    // somebody may have removed the folder between open and flock
    if (names_file(path, fd_)) break;
    ::close(fd_);
  }
  char host[128] = "";
  ::gethostname(host, sizeof host - 1);
  const std::string holder = "process " + std::to_string(::getpid()) + " on " + host + "\n";
  // A full disk must not stop a run that only wants its name in a sentence.
  if (::ftruncate(fd_, 0) != 0 || ::pwrite(fd_, holder.data(), holder.size(), 0) >= 0) return;
  [[maybe_unused]] const int emptied = ::ftruncate(fd_, 0);
}

bool FolderLock::holds(const std::string& folder) const {
  return names_file(folder + "/.lock", fd_);
}

FolderLock::~FolderLock() {
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace trainx
