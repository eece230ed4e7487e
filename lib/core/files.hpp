// Files and folders. Every failure is a UserError that names the path and has the system's words
// for what went wrong: 66 an input is missing, 73 a folder cannot be made or is locked, 74 reading
// or writing failed.
#pragma once
#include "core/descriptor.hpp"
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <string_view>

namespace trainx {

/// The system's words for an errno: "No space left on device".
std::string errno_words(int error);
/// The folder that holds `path`; "." for a bare name.
std::string folder_of(const std::string& path);

/// Opens for reading without waiting for anybody. Throws UserError 66: it is missing, a folder or
/// closed to this user; 65: a pipe, device or socket, which may never answer or never end.
Descriptor open_regular_file(const std::string& path);
/// Of a regular file. Throws UserError 65 also where it is larger than `most_bytes`.
std::string read_file(const std::string& path,
                      std::int64_t most_bytes = std::numeric_limits<std::int64_t>::max());
/// The contents in order, in pieces of at most 1 MiB.
void for_each_piece(const std::string& path,
                    const std::function<void(std::span<const std::byte>)>& use);
/// Afterwards the file holds either its old contents or all of the new ones, also across a crash of
/// the machine.
void write_file_atomic(const std::string& path, std::string_view contents);
/// Makes the names inside a folder (files made, renamed, removed) outlive a crash of the machine.
void fsync_folder(const std::string& path);
/// The folder and those above it; one that is there is fine.
void make_folders(const std::string& path);
/// Bytes that an unprivileged user may still write below `path`, which need not exist yet.
std::int64_t free_disk_bytes(const std::string& path);

/// Holds a run's folder against a second run, from construction to destruction or to the process's
/// end, however that comes. Makes the folder where it is missing. The lock belongs to this process
/// alone: programs that it executes do not inherit it.
class FolderLock {
 public:
  /// Throws UserError 73: the folder cannot be made, or is locked (the sentence names the process
  /// that holds it).
  explicit FolderLock(const std::string& folder);
  ~FolderLock();
  FolderLock(FolderLock&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  FolderLock& operator=(FolderLock&&) = delete;
  /// Whether the folder of that name is the one that is locked: not after somebody removed or
  /// renamed it.
  bool holds(const std::string& folder) const;

 private:
  int fd_ = -1;
};

}  // namespace trainx
