#include "checkpoint/pending.hpp"
#include "checkpoint/run_folder.hpp"
#include "core/error.hpp"
#include "core/file_writer.hpp"
#include "core/files.hpp"
#include "core/partial_name.hpp"
#include <sys/stat.h>
#include <cerrno>
#include <filesystem>

namespace trainx::checkpoint {
namespace {

namespace fs = std::filesystem;

// What the disk says of the sizes; the hashes were taken from what was handed to it.
void require_whole(const std::string& folder, const Manifest& manifest) {
  for (const auto& [name, file] : manifest.files) {
    std::error_code error;
    const auto bytes = fs::file_size(folder + "/" + name, error);
    if (error || static_cast<std::int64_t>(bytes) != file.bytes)
      throw UserError(ExitCode::io_error, folder + "/" + name + " has not the " +
                                              std::to_string(file.bytes) +
                                              " bytes that were written to it" +
                                              (error ? ": " + errno_words(error.value()) : ""));
  }
}

WrittenFile put_text(const std::string& path, const std::string& text) {
  FileWriter file(path);
  file.write(std::as_bytes(std::span(text)));
  file.commit();
  return {file.bytes(), file.hash()};
}

}  // namespace

Pending::Pending(const std::string& run_folder, std::int64_t step)
    : folder_(run_folder),
      name_(checkpoint_name(step)),
      partial_(partial_name(name_)),
      manifest_{step, {}} {
  make_folders(folder_);
  remove_leftovers(folder_);
  if (::mkdir(path().c_str(), 0777) != 0)
    throw UserError(ExitCode::io_error, path() + " cannot be made: " + errno_words(errno));
}

Pending::~Pending() {
  std::error_code ignored;
  fs::remove_all(path(), ignored);
}

std::string Pending::path() const { return folder_ + "/" + partial_; }

void Pending::require_free(const std::string& name) const {
  if (!is_file_name(name) || name == manifest_name || manifest_.files.contains(name))
    throw InternalError("a checkpoint cannot hold a file named '" + name + "'");
}

void Pending::write(const Contents& contents) {
  for (const auto& [name, tensors] : contents.tensor_files) {
    require_free(name);
    add(name, write_safetensors_file(path() + "/" + name, tensors, {}));
  }
  for (const auto& [name, text] : contents.text_files) write_text(name, text);
}

void Pending::write_text(const std::string& name, const std::string& text) {
  require_free(name);
  const std::string file = path() + "/" + name;
  make_folders(folder_of(file));
  add(name, put_text(file, text));
  if (folder_of(file) != path()) fsync_folder(folder_of(file));
}

void Pending::add(const std::string& name, const WrittenFile& file) {
  require_free(name);
  manifest_.files[name] = {file.bytes, file.hash};
}

std::string Pending::put_in_place() {
  put_text(path() + "/" + manifest_name, to_json(manifest_));
  require_whole(path(), manifest_);
  fsync_folder(path());
  checkpoint::put_in_place(folder_, partial_, name_);
  return name_;
}

}  // namespace trainx::checkpoint
