#include "checkpoint/model_folder.hpp"
#include "checkpoint/manifest.hpp"
#include "checkpoint/run_folder.hpp"
#include "checkpoint/safetensors_writer.hpp"
#include "checkpoint/weights_index.hpp"
#include "core/error.hpp"
#include "core/mapped_region.hpp"
#include "core/files.hpp"
#include "core/partial_name.hpp"
#include "core/hash.hpp"
#include "core/restarted.hpp"
#include <sys/stat.h>
#include <cerrno>
#include <filesystem>

namespace trainx::checkpoint {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& path, const std::string& why) {
  throw UserError(ExitCode::cannot_create, path + " " + why);
}

void require_free(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) return;
  if (!fs::is_directory(status)) fail(path, "is there already and is no folder; name another");
  if (!fs::is_empty(path, error) || error)
    fail(path, error ? "cannot be read: " + errno_words(error.value())
                     : "is there already and is not empty; name another folder, or remove it");
}

std::vector<std::string> write_files(const std::string& folder, const ModelFolder& model) {
  std::vector<std::string> names;
  WeightMap files;
  Manifest manifest;
  std::int64_t total_bytes = 0;
  const auto shards = cut_into_shards(model.tensors, model.max_shard_bytes);
  for (std::size_t i = 0; i < shards.size(); ++i) {
    names.push_back(shard_name(model.stem, i + 1, shards.size()));
    const WrittenFile written = write_safetensors_file(folder + "/" + names.back(), shards[i], {});
    manifest.files[names.back()] = {written.bytes, written.hash};
    for (const TensorSource& t : shards[i]) {
      files[t.name] = names.back();
      total_bytes += bytes_of(t);
    }
  }
  std::map<std::string, std::string> texts = model.text_files;
  if (shards.size() > 1) texts[index_name(model.stem)] = weights_index_text(files, total_bytes);
  for (const auto& [name, text] : texts) {
    make_folders(folder_of(folder + "/" + name));
    write_file_atomic(folder + "/" + name, text);
    names.push_back(name);
    manifest.files[name] = {std::ssize(text), hash_hex(text)};
  }
  write_file_atomic(folder + "/" + manifest_name, to_json(manifest));
  names.push_back(manifest_name);
  require_whole_files();
  fsync_folder(folder);
  return names;
}

/// The folder that is written aside; removed unless it was renamed.
struct Aside {
  explicit Aside(std::string p) : path(std::move(p)) {
    if (::mkdir(path.c_str(), 0777) != 0) fail(path, "cannot be made: " + errno_words(errno));
  }
  ~Aside() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  Aside(const Aside&) = delete;
  Aside& operator=(const Aside&) = delete;
  std::string path;
};

}  // namespace

std::vector<std::vector<TensorSource>> cut_into_shards(const std::vector<TensorSource>& tensors,
                                                       std::int64_t max_shard_bytes) {
  if (max_shard_bytes < 1)
    throw InternalError("shards of " + std::to_string(max_shard_bytes) + " bytes");
  std::vector<std::vector<TensorSource>> shards(1);
  std::int64_t filled = 0;
  for (const TensorSource& t : tensors) {
    const std::int64_t bytes = bytes_of(t);
    if (!shards.back().empty() && bytes > max_shard_bytes - filled) {
      shards.emplace_back();
      filled = 0;
    }
    shards.back().push_back(t);
    filled += bytes;
  }
  return shards;
}

std::vector<std::string> write_model_folder(const std::string& path, const ModelFolder& model) {
  require_free(path);
  std::error_code error;
  // through links, and without a slash at the end, so that one rename puts it in place
  fs::path target = fs::weakly_canonical(fs::absolute(path), error);
  if (error) fail(path, "cannot be made: " + errno_words(error.value()));
  if (!target.has_filename()) target = target.parent_path();
  make_folders(target.parent_path().string());
  const Aside aside((target.parent_path() / partial_name(target.filename().string())).string());
  const auto names = write_files(aside.path, model);
  // an empty folder gives way, one that was filled meanwhile does not
  if (restarted([&] { return ::rename(aside.path.c_str(), target.c_str()); }) != 0) {
    const int why = errno;
    fail(path, "cannot be put in place: " + errno_words(why));
  }
  fsync_folder(target.parent_path().string());
  return names;
}

}  // namespace trainx::checkpoint
