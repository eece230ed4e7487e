#pragma once
#include "core/output_queue.hpp"
#include <chrono>
#include <string_view>

namespace trainx::launch {

/// Lines for this process's stderr, written without waiting for its reader (a pager, a terminal
/// that is held): signals go on to the workers meanwhile. Of lines that wait the newest 16 MiB are
/// kept, so that workers never wait for that reader either.
class StderrWriter {
 public:
  StderrWriter();
  void put(std::string_view line);
  bool pending() const { return queue_.pending(); }
  int descriptor() const { return queue_.descriptor(); }
  /// Writes what is taken now. True: some was.
  bool write() { return queue_.write(); }

 private:
  OutputQueue queue_;
  bool live_ = false;  // a terminal, on which rank 0 may have its status line
};

}  // namespace trainx::launch
