#include "data/mapped_file.hpp"
#include "core/error.hpp"
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace trainx::data {

MappedFile::MappedFile(std::string path) : path_(std::move(path)) {
  const int file = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    const std::string reason = errno == ENOENT ? "it is missing" : std::strerror(errno);
    throw UserError(ExitCode::input_missing, "cannot open data file " + path_ + ": " + reason);
  }
  struct stat info {};
  void* mapped = nullptr;
  int error = ::fstat(file, &info) == 0 ? 0 : errno;
  const bool regular = error == 0 && S_ISREG(info.st_mode);
  if (regular && info.st_size > 0) {
    mapped =
        ::mmap(nullptr, static_cast<std::size_t>(info.st_size), PROT_READ, MAP_PRIVATE, file, 0);
    if (mapped == MAP_FAILED) error = errno;
  }
  ::close(file);  // a mapping outlives its descriptor
  if (error != 0)
    throw UserError(ExitCode::input_missing,
                    "cannot map data file " + path_ + ": " + std::strerror(error));
  if (!regular)
    throw UserError(ExitCode::bad_data, path_ + " is no regular file: name a file of data");
  data_ = static_cast<const std::byte*>(mapped);
  size_ = static_cast<std::size_t>(info.st_size);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(std::move(other.path_)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

}  // namespace trainx::data
