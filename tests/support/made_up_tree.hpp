#pragma once
#include <unistd.h>
#include <filesystem>
#include <fstream>
#include <string>

namespace trainx::facts {

/// A folder of files that stands in for /proc, /sys, /dev or a data folder.
struct MadeUpTree {
  std::filesystem::path root = std::filesystem::temp_directory_path() /
                               ("trainx-facts-" + std::to_string(::getpid()));
  MadeUpTree() { std::filesystem::create_directories(root); }
  ~MadeUpTree() { std::filesystem::remove_all(root); }
  void write(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories((root / path).parent_path());
    std::ofstream(root / path) << text;
  }
};

}  // namespace trainx::facts
