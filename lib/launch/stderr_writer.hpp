#pragma once
#include <string>
#include <string_view>

namespace trainx::launch {

/// Lines for this process's stderr, written without waiting for its reader (a pager, a terminal
/// that is held): signals go on to the workers meanwhile.
class StderrWriter {
 public:
  StderrWriter();
  void put(std::string_view line);
  bool pending() const { return !text_.empty(); }
  /// So much is pending that no more should be read from the workers.
  bool full() const { return text_.size() > (1 << 20); }
  /// Writes what is taken now.
  void write();

 private:
  bool live_ = false;  // a terminal, on which rank 0 may have its status line
  std::string text_;
};

}  // namespace trainx::launch
