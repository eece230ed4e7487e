#include "data/tables/table_file.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include <dlfcn.h>
#include <filesystem>
#include <string_view>

namespace trainx::data::tables {
namespace {

constexpr const char* library_name = "libtrainx_tables.so";

/// Beside the program, or where a build has it beside the folder of a test.
std::string library_path() {
  std::error_code error;
  const std::string folder = folder_of(std::filesystem::read_symlink("/proc/self/exe", error));
  for (const std::string& path : {folder + "/" + library_name, folder + "/../bin/" + library_name})
    if (std::filesystem::exists(path, error)) return path;
  return "";
}

OpenTable* load(const std::string& path) {
  const std::string library = library_path();
  if (library.empty())
    throw UserError(ExitCode::unavailable,
                    path +
                        " is a Parquet or Arrow file, and this trainx was built without Apache "
                        "Arrow: run scripts/setup and build again, or convert it to JSON lines");
  void* opened = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);  // stays for all that follow
  void* function = opened ? ::dlsym(opened, "trainx_open_table") : nullptr;
  if (!function) {
    const char* why = ::dlerror();
    throw UserError(ExitCode::unavailable, path + " needs " + library +
                                               ", which cannot be loaded (" +
                                               (why ? why : "no reason given") +
                                               "): pip install pyarrow==26.0.1 beside trainx");
  }
  return reinterpret_cast<OpenTable*>(function);
}

}  // namespace

bool is_table(std::span<const std::byte> bytes, const std::string& path) {
  using namespace std::string_view_literals;
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.starts_with("PAR1")) return text.size() >= 12 && text.ends_with("PAR1");
  if (text.starts_with("ARROW1\0\0"sv)) return true;
  return path.ends_with(".arrow") && text.starts_with("\xff\xff\xff\xff");
}

void require_library(const std::string& path) { load(path); }

std::unique_ptr<TableFile> open_table(const std::string& path,
                                      const std::vector<std::string>& columns) {
  return load(path)(path, columns);
}

}  // namespace trainx::data::tables
