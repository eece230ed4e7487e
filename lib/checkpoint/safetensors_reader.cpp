#include "checkpoint/checkpoint.hpp"
#include "checkpoint/safetensors_header.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <bit>
#include <cerrno>
#include <cstring>

namespace trainx::checkpoint {
namespace {

static_assert(std::endian::native == std::endian::little,
              "safetensors files are little-endian and are mapped as they lie");

[[noreturn]] void fail_opening(const std::string& path, int error) {
  const bool missing = error == ENOENT || error == ENOTDIR || error == EISDIR || error == EACCES ||
                       error == ELOOP || error == ENAMETOOLONG;
  throw UserError(missing ? ExitCode::input_missing : ExitCode::io_error,
                  path + " cannot be read: " + errno_words(error));
}

}  // namespace

SafetensorsReader::SafetensorsReader(const std::string& path) : path_(path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) fail_opening(path, errno);
  struct stat info {};
  int error = ::fstat(fd, &info) != 0 ? errno : S_ISDIR(info.st_mode) ? EISDIR : 0;
  size_ = error ? 0 : static_cast<std::size_t>(info.st_size);
  if (!error && size_ > 0) {
    map_ = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, fd, 0);
    if (map_ == MAP_FAILED) {
      error = errno;
      map_ = nullptr;
    }
  }
  ::close(fd);
  if (error) fail_opening(path, error);

  try {
    constexpr std::size_t length_bytes = 8;
    if (size_ < length_bytes)
      throw UserError(ExitCode::bad_data, path +
                                              ": the file is truncated: " + std::to_string(size_) +
                                              " bytes, not even the length of a header (byte 0)");
    std::uint64_t header_bytes = 0;
    std::memcpy(&header_bytes, map_, length_bytes);
    if (header_bytes > header_limit_bytes)
      throw UserError(
          ExitCode::bad_data,
          path + ": a header of " + std::to_string(header_bytes) +
              " bytes, more than the format allows (byte 0): this is no safetensors file");
    if (header_bytes > size_ - length_bytes)
      throw UserError(ExitCode::bad_data,
                      path + ": the file is truncated: its header has " +
                          std::to_string(header_bytes) + " bytes, the file only " +
                          std::to_string(size_ - length_bytes) + " after the length (byte 8)");
    const auto* bytes = static_cast<const std::byte*>(map_);
    const std::size_t data_start = length_bytes + header_bytes;
    SafetensorsHeader header = parse_safetensors_header(
        {reinterpret_cast<const char*>(bytes) + length_bytes, header_bytes}, path,
        static_cast<std::int64_t>(length_bytes), static_cast<std::int64_t>(size_ - data_start));
    for (auto& [name, t] : header.tensors)
      tensors_[name] = {t.dtype,
                        std::move(t.dims),
                        {bytes + data_start + t.begin, static_cast<std::size_t>(t.end - t.begin)}};
    metadata_ = std::move(header.metadata);
  } catch (const UserError&) {
    if (map_) ::munmap(map_, size_);  // the destructor does not run for a constructor that throws
    throw;
  }
}

SafetensorsReader::~SafetensorsReader() {
  if (map_) ::munmap(map_, size_);
}

}  // namespace trainx::checkpoint
