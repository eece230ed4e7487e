#include "metrics/appended_file.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "core/restarted.hpp"
#include "core/same_file.hpp"
#include <fcntl.h>
#include <unistd.h>
#include <cerrno>

namespace trainx::metrics {

AppendedFile::AppendedFile(std::string path, std::int64_t size)
    : path_(std::move(path)), size_(size) {
  fd_ = restarted([&] { return ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666); });
  if (fd_ < 0)
    throw UserError(ExitCode::io_error, path_ + " cannot be written: " + errno_words(errno));
}

AppendedFile::~AppendedFile() { ::close(fd_); }

void AppendedFile::append(std::string_view piece) {
  waiting_ += piece;
  std::size_t written = 0;
  int error = 0;
  while (written < waiting_.size() && error == 0) {
    const ssize_t n = ::pwrite(fd_, waiting_.data() + written, waiting_.size() - written,
                               size_ + static_cast<std::int64_t>(written));
    if (n > 0)
      written += static_cast<std::size_t>(n);
    else if (n == 0 || errno != EINTR)
      error = n == 0 ? ENOSPC : errno;
  }
  if (error == 0) {
    size_ += static_cast<std::int64_t>(written);
    waiting_.clear();
    problem_.clear();
    return;
  }
  problem_ = path_ + ": " + errno_words(error);
  // Half a piece must not stay behind; where cutting it off fails too, the next write goes over it.
  if (restarted([&] { return ::ftruncate(fd_, size_); }) != 0)
    problem_ += ", and its end is incomplete";
}

void AppendedFile::sync() {
  const int failed = restarted([&] { return ::fdatasync(fd_); });
  if (failed != 0 && problem_.empty()) problem_ = path_ + ": " + errno_words(errno);
}

void AppendedFile::put_back_if_gone() {
  if (names_file(path_, fd_)) return;
  std::string pieces(static_cast<std::size_t>(size_), '\0');
  if (::pread(fd_, pieces.data(), pieces.size(), 0) != static_cast<ssize_t>(pieces.size())) return;
  try {
    make_folders(folder_of(path_));
    write_file_atomic(path_, pieces);
  } catch (const UserError& e) {
    problem_ = e.what();
    return;
  }
  const int fd = restarted([&] { return ::open(path_.c_str(), O_RDWR | O_CLOEXEC); });
  if (fd < 0) return;
  ::close(fd_);
  fd_ = fd;
}

}  // namespace trainx::metrics
