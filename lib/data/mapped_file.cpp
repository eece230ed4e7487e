#include "data/mapped_file.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include <filesystem>

namespace trainx::data {

MappedFile::MappedFile(std::string path) : path_(std::move(path)) {
  std::error_code unknown;  // what else fails, opening tells
  const auto status = std::filesystem::status(path_, unknown);
  if (status.type() == std::filesystem::file_type::not_found)
    throw UserError(ExitCode::input_missing, "cannot open data file " + path_ + ": it is missing");
  if (std::filesystem::is_directory(status))
    throw UserError(ExitCode::bad_data, path_ + " is no regular file: name a file of data");
  region_ = MappedRegion(open_regular_file(path_), path_);
  bytes_ = region_.bytes();
}

}  // namespace trainx::data
