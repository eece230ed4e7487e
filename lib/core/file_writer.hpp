#pragma once
#include "core/hash.hpp"
#include "core/write_behind.hpp"
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace trainx {

/// Writes a file aside, in the same folder, and puts it in place at `commit`. Without a commit (an
/// exception on the way) nothing is left behind. Throws UserError 74 with the path and the system's
/// words.
class FileWriter {
 public:
  static constexpr std::int64_t large_bytes = std::int64_t{64} << 20;

  /// `expected_bytes`, where known, are taken from the disk at once, so that a full disk is noticed
  /// before the work; many are written past the page cache, by a thread.
  explicit FileWriter(const std::string& path, std::int64_t expected_bytes = 0);
  ~FileWriter();
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;

  void write(std::span<const std::byte> bytes);
  /// To the disk, then under its name. The name itself outlives a crash of the machine after the
  /// caller's fsync_folder.
  void commit();
  std::int64_t bytes() const { return bytes_; }
  /// hash_hex of what was written.
  std::string hash() const { return hasher_.hex(); }

 private:
  [[noreturn]] void fail(int error) const;
  void abandon() noexcept;

  std::string path_, aside_;
  int fd_ = -1;
  std::int64_t bytes_ = 0;
  Hasher hasher_;
  std::optional<WriteBehind> after_;  // of a large file
};

}  // namespace trainx
