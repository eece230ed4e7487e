#pragma once
#include "core/descriptor.hpp"
#include <functional>
#include <string>
#include <string_view>

namespace trainx::launch {

/// Whole lines of what a process writes into a pipe.
class LineReader {
 public:
  using Use = std::function<void(std::string_view line)>;  // without its end

  /// `pipe`: the reading end, which must not block.
  explicit LineReader(Descriptor pipe) : pipe_(std::move(pipe)) {}
  /// -1 once the writers are gone.
  int descriptor() const { return pipe_.get(); }
  /// Reads what is there now, at most a mebibyte, so that a process that never stops writing holds
  /// up nobody.
  void read(const Use& use);
  /// Nothing follows: reads what is there, hands out a last line that has no end, closes.
  void finish(const Use& use);

 private:
  void hand_out(const Use& use);
  Descriptor pipe_;
  std::string begun_;
};

}  // namespace trainx::launch
