#include "core/same_file.hpp"
#include <sys/stat.h>

namespace trainx {

bool names_file(const std::string& path, int fd) {
  struct stat named {
  }, open{};
  return ::stat(path.c_str(), &named) == 0 && ::fstat(fd, &open) == 0 &&
         named.st_dev == open.st_dev && named.st_ino == open.st_ino;
}

}  // namespace trainx
