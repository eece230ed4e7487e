#pragma once
#include "core/error.hpp"
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace trainx {

/// What several files refuse, to be told at once.
class Refusals {
 public:
  /// Calls `work`, and keeps the UserError that it throws.
  template <class Work>
  void collect(Work&& work) {
    try {
      work();
    } catch (const UserError& refusal) { add(refusal); }
  }
  void add(const UserError& refusal);
  bool empty() const { return !code_; }
  /// Throws what was kept as one UserError with the first one's code, a line for each; nothing
  /// where there is nothing.
  void throw_all() const;

 private:
  std::optional<ExitCode> code_;
  std::vector<std::string> sentences_;
  std::size_t more_ = 0;  // that are not listed
};

}  // namespace trainx
