#pragma once
#include "core/mapped_region.hpp"
#include <cstddef>
#include <span>
#include <string>
#include <utility>

namespace trainx::data {

/// A data file's bytes, mapped read-only; require_whole_files (core) tells of one that is cut
/// later.
class MappedFile {
 public:
  /// Throws UserError 66 where the file is missing or cannot be opened, 65 where it is no regular
  /// file.
  explicit MappedFile(std::string path);
  /// Bytes in memory that outlive this, as if they were the file `path`.
  MappedFile(std::string path, std::span<const std::byte> bytes)
      : path_(std::move(path)), bytes_(bytes) {}
  /// What was unpacked of the file `path`.
  MappedFile(std::string path, MappedRegion region)
      : path_(std::move(path)),
        region_(std::move(region)),
        bytes_(region_.bytes()),
        unpacked_(true) {}
  std::span<const std::byte> bytes() const { return bytes_; }
  const std::string& path() const { return path_; }
  /// Whether the bytes are not the file's own, but what was unpacked of it.
  bool is_unpacked() const { return unpacked_; }

 private:
  std::string path_;
  MappedRegion region_;
  std::span<const std::byte> bytes_;  // of region_, or somebody else's
  bool unpacked_ = false;
};

}  // namespace trainx::data
