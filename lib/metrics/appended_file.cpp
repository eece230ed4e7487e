#include "metrics/appended_file.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include <fcntl.h>
#include <unistd.h>
#include <cerrno>

namespace trainx::metrics {

AppendedFile::AppendedFile(std::string path, std::int64_t size)
    : path_(std::move(path)), size_(size) {
  fd_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (fd_ < 0)
    throw UserError(ExitCode::io_error, path_ + " cannot be written: " + errno_words(errno));
}

AppendedFile::~AppendedFile() { ::close(fd_); }

void AppendedFile::append(std::string_view piece) {
  waiting_ += piece;
  ssize_t written = 0;
  do written = ::pwrite(fd_, waiting_.data(), waiting_.size(), size_);
  while (written < 0 && errno == EINTR);
  if (written == static_cast<ssize_t>(waiting_.size())) {
    size_ += written;
    waiting_.clear();
    problem_.clear();
    return;
  }
  problem_ = path_ + ": " + errno_words(written < 0 ? errno : ENOSPC);
  // Half a piece must not stay behind; where cutting it off fails too, the next write goes over it.
  if (::ftruncate(fd_, size_) != 0) problem_ += ", and its end is incomplete";
}

void AppendedFile::sync() {
  if (::fdatasync(fd_) != 0 && problem_.empty()) problem_ = path_ + ": " + errno_words(errno);
}

}  // namespace trainx::metrics
