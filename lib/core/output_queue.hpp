#pragma once
#include "core/descriptor.hpp"
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>

namespace trainx {

/// Lines on their way to a descriptor whose reader may be slow: a pager, a held terminal, a pipe
/// that nobody reads. No call waits for the reader. Of lines that wait, the newest `most_bytes` are
/// kept; one line in the place of those left out says how many they are.
class OutputQueue {
 public:
  /// The line, with its end, that stands for `lines` lines.
  using LeftOut = std::function<std::string(std::int64_t lines)>;

  /// Does not own `fd`.
  OutputQueue(int fd, std::size_t most_bytes, LeftOut left_out);
  /// A text without an end of line is a picture that the next text replaces: it is shown at once or
  /// not at all.
  void put(std::string_view text);
  bool pending() const { return !waiting_.empty(); }
  /// Lines that are waiting or were left out.
  std::int64_t unwritten_lines() const;
  /// What poll() asks about POLLOUT.
  int descriptor() const { return own_.is_open() ? own_.get() : fd_; }
  /// Writes what is taken now. A reader that went away takes everything. True: some was taken.
  bool write();
  /// Writes until nothing waits, or the reader has taken nothing for `patience`. False: lines
  /// were left, which are dropped.
  bool finish(std::chrono::milliseconds patience);

 private:
  void leave_out();
  void forget();
  std::string_view next_piece();
  void take(std::size_t written);

  int fd_;
  Descriptor own_;  // the same pipe or terminal, opened once more to be written without waiting
  bool socket_ = false, redraw_ = false;
  std::size_t most_bytes_, bytes_ = 0, begun_ = 0;  // begun_: written bytes of the first text
  std::int64_t left_out_ = 0;
  LeftOut left_out_line_;
  std::string noted_;  // the first text behind the line about those left out
  std::deque<std::string> waiting_;
};

}  // namespace trainx
