#include "core/file_writer.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "core/partial_name.hpp"
#include "core/restarted.hpp"
#include <fcntl.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstdio>

namespace trainx {
namespace {

int open_for_writing(const std::string& path, int more) {
  return restarted(
      [&] { return ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | more, 0666); });
}

}  // namespace

FileWriter::FileWriter(const std::string& path, std::int64_t expected_bytes) : path_(path) {
  const std::string folder = folder_of(path);
  aside_ = folder + "/" + partial_name(path.substr(path.find_last_of('/') + 1));
  const bool large = expected_bytes >= large_bytes;
  if (large) fd_ = open_for_writing(aside_, O_DIRECT);
  if (fd_ < 0) fd_ = open_for_writing(aside_, 0);  // not every file system has direct writes
  if (fd_ < 0) fail(errno);
  // Not every file system can reserve; those that cannot report a full disk while writing.
  if (expected_bytes > 0 && ::fallocate(fd_, FALLOC_FL_KEEP_SIZE, 0, expected_bytes) != 0 &&
      (errno == ENOSPC || errno == EDQUOT || errno == EFBIG)) {
    const int error = errno;
    abandon();
    fail(error);
  }
  if (large) after_.emplace(fd_);
}

FileWriter::~FileWriter() { abandon(); }

void FileWriter::write(std::span<const std::byte> bytes) {
  hasher_.update(bytes);
  if (after_) {
    if (const int error = after_->write(bytes)) fail(error);
    bytes_ += std::ssize(bytes);
    return;
  }
  while (!bytes.empty()) {
    const ssize_t n =
        ::write(fd_, bytes.data(), std::min<std::size_t>(bytes.size(), std::size_t{1} << 30));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail(errno);
    bytes_ += n;
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
}

void FileWriter::commit() {
  if (after_)
    if (const int error = after_->finish()) fail(error);
  after_.reset();
  if (restarted([&] { return ::fsync(fd_); }) != 0) fail(errno);
  const int fd = fd_;
  fd_ = -1;
  // close can report what a network file system found only now; the file is then not to be trusted.
  // Interrupted it has closed, and what the file holds is on disk already.
  if ((::close(fd) != 0 && errno != EINTR) ||
      restarted([&] { return ::rename(aside_.c_str(), path_.c_str()); }) != 0) {
    const int error = errno;
    ::unlink(aside_.c_str());
    fail(error);
  }
}

void FileWriter::fail(int error) const {
  throw UserError(ExitCode::io_error, path_ + " cannot be written: " + errno_words(error));
}

void FileWriter::abandon() noexcept {
  if (fd_ < 0) return;
  after_.reset();
  ::close(fd_);
  ::unlink(aside_.c_str());
  fd_ = -1;
}

}  // namespace trainx
