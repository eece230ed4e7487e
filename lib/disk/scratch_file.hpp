// A file without a name: it is gone with the process, however that ends.
#pragma once
#include "core/descriptor.hpp"
#include <cstdint>
#include <string>

namespace trainx::disk {

/// Direct transfers begin and end on its borders, in the file and in memory.
constexpr std::int64_t block_bytes = 4096;

class ScratchFile {
 public:
  /// So many zero bytes, for which the space is taken at once, in a folder that exists. Throws
  /// UserError: 73 no file can be made there, 71 there is too little space.
  ScratchFile(const std::string& folder, std::int64_t bytes);
  int descriptor() const { return file_.get(); }
  const std::string& folder() const { return folder_; }
  std::int64_t bytes() const { return bytes_; }
  /// Transfers bypass the page cache. False where the file system does not know that.
  bool is_direct() const { return direct_; }
  void make_buffered();

 private:
  std::string folder_;
  std::int64_t bytes_ = 0;
  Descriptor file_;
  bool direct_ = false;
};

}  // namespace trainx::disk
