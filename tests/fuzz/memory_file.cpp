#include "fuzz/memory_file.hpp"
#include <cerrno>
#include <sys/mman.h>
#include <system_error>
#include <unistd.h>

namespace trainx::fuzz {

MemoryFile::MemoryFile(Bytes contents)
    : fd_(::memfd_create("fuzz", MFD_CLOEXEC)), path_("/proc/self/fd/" + std::to_string(fd_)) {
  if (fd_ < 0) throw std::system_error(errno, std::generic_category(), "memfd_create");
  while (!contents.empty()) {
    const ssize_t written = ::write(fd_, contents.data(), contents.size());
    if (written < 0) throw std::system_error(errno, std::generic_category(), "write to a memfd");
    contents = contents.subspan(static_cast<std::size_t>(written));
  }
}

MemoryFile::~MemoryFile() { ::close(fd_); }

}  // namespace trainx::fuzz
