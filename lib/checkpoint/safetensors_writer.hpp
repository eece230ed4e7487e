#pragma once
#include "checkpoint/checkpoint.hpp"
#include "core/file_writer.hpp"
#include <cstdint>

namespace trainx::checkpoint {

/// What was put on disk, for the manifest.
struct WrittenFile {
  std::int64_t bytes = 0;
  std::string hash;
};

/// Of its elements, as saved.
std::int64_t bytes_of(const TensorSource& t);
/// As tensors lie in a file: widest elements first, as the format's own library does: with a header
/// padded to 8 bytes every tensor is then aligned for its elements.
std::vector<const TensorSource*> in_file_order(const std::vector<TensorSource>& tensors);

/// A safetensors file being written aside: there when it is committed. Throws UserError 74.
class SafetensorsFile {
 public:
  /// `order`: what will be appended, in this order.
  SafetensorsFile(const std::string& path, const std::vector<const TensorSource*>& order,
                  const std::map<std::string, std::string>& metadata);
  /// Fills the tensor into the file.
  void append(const TensorSource& tensor);
  /// fsyncs the file; the caller its folder.
  WrittenFile commit();

 private:
  struct Header;
  static Header header_of(const std::vector<const TensorSource*>& order,
                          const std::map<std::string, std::string>& metadata);
  SafetensorsFile(const std::string& path, const Header& header);
  FileWriter file_;
  std::vector<std::byte> buffer_;
};

/// write_safetensors, with size and hash taken on the way; the caller fsyncs the folder.
WrittenFile write_safetensors_file(const std::string& path,
                                   const std::vector<TensorSource>& tensors,
                                   const std::map<std::string, std::string>& metadata);

}  // namespace trainx::checkpoint
