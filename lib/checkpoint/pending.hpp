// A checkpoint that is being written.
#pragma once
#include "checkpoint/checkpoint.hpp"
#include "checkpoint/manifest.hpp"
#include "checkpoint/safetensors_writer.hpp"
#include <cstdint>

namespace trainx::checkpoint {

/// The folder that checkpoint-<step> is written in, aside; removed unless it is put in place. All
/// throw UserError 74.
class Pending {
 public:
  /// Makes it in the run's folder, from which the leftovers of killed saves go. For the holder of
  /// that folder's lock.
  Pending(const std::string& run_folder, std::int64_t step);
  ~Pending();
  Pending(const Pending&) = delete;
  Pending& operator=(const Pending&) = delete;
  std::string path() const;
  /// Writes all that `contents` hold.
  void write(const Contents& contents);
  void write_text(const std::string& name, const std::string& text);
  /// Takes a file into the manifest that was written here by somebody.
  void add(const std::string& name, const WrittenFile& file);
  /// Writes the manifest, holds sizes against it, and renames the folder once. Returns the
  /// checkpoint's name in the run's folder.
  std::string put_in_place();

 private:
  void require_free(const std::string& name) const;
  std::string folder_, name_, partial_;
  Manifest manifest_;
};

}  // namespace trainx::checkpoint
