// What is wrong with a document, collected so that all of it is reported at once.
#pragma once
#include "core/problem.hpp"
#include <compare>
#include <string>
#include <vector>

namespace trainx::yaml {

/// Where a key or value stands: file:line:col from 1, or a source without lines such as "command
/// line" (line 0).
struct Location {
  std::string file;
  int line = 0, column = 0;
  auto operator<=>(const Location&) const = default;
};
std::string to_string(const Location& where);

class Problems {
 public:
  /// `key` is dotted, empty where there is none; `sentence` completes "file:line:col: key: ...".
  void add(Location where, std::string key, std::string sentence);
  void append(const Problems& other) {
    all_.insert(all_.end(), other.all_.begin(), other.all_.end());
  }
  bool empty() const { return all_.empty(); }
  std::size_t size() const { return all_.size(); }
  /// Each problem once, printable; files in the order in which they were first named, inside a file
  /// by line.
  std::vector<Problem> listed() const;
  /// The text of each listed problem: `file:line:col: key: sentence`.
  std::vector<std::string> lines() const;

 private:
  struct Added {
    Location where;
    std::string key, sentence;
  };
  std::vector<Added> all_;
};

/// A value as a message shows it: in quotes, control characters escaped, shortened.
std::string excerpt(std::string_view text);

}  // namespace trainx::yaml
