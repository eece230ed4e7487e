// Writes beyond a size fail with EFBIG, for a test of what happens when the disk does not take any
// more.
#pragma once
#include <csignal>
#include <stdexcept>
#include <sys/resource.h>

class LimitedFileSize {
 public:
  explicit LimitedFileSize(long bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limited{static_cast<rlim_t>(bytes), before_.rlim_max};
    if (::setrlimit(RLIMIT_FSIZE, &limited) != 0) throw std::runtime_error("no file size limit");
  }
  ~LimitedFileSize() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  LimitedFileSize(const LimitedFileSize&) = delete;
  LimitedFileSize& operator=(const LimitedFileSize&) = delete;

 private:
  rlimit before_{};
  void (*handler_)(int);
};
