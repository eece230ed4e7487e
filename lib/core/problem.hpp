// A mistake in a document: where it is, the key it concerns and what is wrong.
#pragma once
#include <string>

namespace trainx {

struct Problem {
  std::string file;          // also "command line" and other sources without lines
  int line = 0, column = 0;  // from 1; 0 if the source has no lines
  std::string key;           // dotted; empty if no key is concerned
  std::string message;

  /// `file:line:col: key: message` as editors understand it, without the parts that are empty.
  std::string text() const;
  bool operator==(const Problem&) const = default;
};

}  // namespace trainx
