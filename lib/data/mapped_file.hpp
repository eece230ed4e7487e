#pragma once
#include "core/mapped_region.hpp"
#include <cstddef>
#include <span>
#include <string>

namespace trainx::data {

/// A data file's bytes, mapped read-only; require_whole_files (core) tells of one that is cut
/// later.
class MappedFile {
 public:
  /// Throws UserError 66 where the file is missing or cannot be opened, 65 where it is no regular
  /// file.
  explicit MappedFile(std::string path);
  std::span<const std::byte> bytes() const { return region_.bytes(); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  MappedRegion region_;
};

}  // namespace trainx::data
