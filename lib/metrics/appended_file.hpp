#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace trainx::metrics {

/// A file that whole pieces are appended to, each handed to the system at once. A disk that is full
/// does not end the run: what cannot be written is kept and tried again with the next piece, and
/// `problem` says why.
class AppendedFile {
 public:
  /// Goes on behind the first `size` bytes. Throws UserError 74.
  AppendedFile(std::string path, std::int64_t size);
  ~AppendedFile();
  AppendedFile(const AppendedFile&) = delete;
  AppendedFile& operator=(const AppendedFile&) = delete;

  void append(std::string_view piece);
  /// What was written outlives a crash of the machine.
  void sync();
  /// Where somebody removed or replaced the file: again, with all its pieces. Makes its folder.
  void put_back_if_gone();
  /// Empty, or why pieces are waiting to be written.
  const std::string& problem() const { return problem_; }

 private:
  std::string path_, waiting_, problem_;
  int fd_ = -1;
  std::int64_t size_;  // of whole pieces
};

}  // namespace trainx::metrics
