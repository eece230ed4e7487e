#include "support/source_dir.hpp"

// The one file that is compiled with the path: objects of all others are the same in every clone.
const std::string& source_dir() {
  static const std::string path = TRAINX_SOURCE_DIR;
  return path;
}
