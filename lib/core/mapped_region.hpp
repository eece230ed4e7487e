#pragma once
#include "core/descriptor.hpp"
#include <cstddef>
#include <span>
#include <string>

namespace trainx {

/// A file's bytes as they were when it was opened, mapped read-only. A file that is cut afterwards,
/// or whose disk fails, does not end the process (SIGBUS): the bytes that are gone read as zeros,
/// and require_whole_files tells.
class MappedRegion {
 public:
  MappedRegion() = default;
  /// All of `file`, which may be closed afterwards. Throws UserError: 66 it cannot be mapped, 71
  /// there is no memory for it.
  MappedRegion(const Descriptor& file, const std::string& path);
  ~MappedRegion();
  MappedRegion(MappedRegion&& other) noexcept;
  MappedRegion& operator=(MappedRegion&& other) noexcept;
  std::span<const std::byte> bytes() const { return {data_, size_}; }

 private:
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

/// Throws UserError naming a mapped file of which bytes were gone when they were read: 65 it was
/// cut, 74 its disk failed. For whoever used bytes of mapped files, before it hands out what it
/// made of them.
void require_whole_files();

}  // namespace trainx
