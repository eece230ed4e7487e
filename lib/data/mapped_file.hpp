#pragma once
#include <cstddef>
#include <span>
#include <string>

namespace trainx::data {

/// A file's bytes, mapped read-only.
class MappedFile {
 public:
  /// Throws UserError 66 where the file is missing or cannot be opened, 65 where it is no regular
  /// file.
  explicit MappedFile(std::string path);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&&) = delete;
  std::span<const std::byte> bytes() const { return {data_, size_}; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace trainx::data
