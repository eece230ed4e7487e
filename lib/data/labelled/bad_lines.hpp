#pragma once
#include "core/error.hpp"
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

namespace trainx::data::labelled {

/// Lines of a file that several threads refuse. The first of them are told.
class BadLines {
 public:
  /// A thread may stop looking after so many.
  static constexpr std::int64_t most_of_range = 100;

  void add(std::int64_t index, const UserError& refusal);
  /// Throws UserError 65 that lists the first ones and counts the others, if there are any.
  void throw_first() const;

 private:
  std::mutex mutex_;
  std::vector<std::pair<std::int64_t, std::string>> lines_;
};

}  // namespace trainx::data::labelled
