#pragma once
#include "fuzz/targets.hpp"
#include <string>

namespace trainx::fuzz {

/// A file without a disk, for readers that take a path and map it.
class MemoryFile {
 public:
  explicit MemoryFile(Bytes contents);
  ~MemoryFile();
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  int fd_;
  std::string path_;
};

}  // namespace trainx::fuzz
