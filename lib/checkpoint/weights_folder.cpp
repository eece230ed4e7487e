#include "checkpoint/weights_folder.hpp"
#include "checkpoint/safetensors_header.hpp"
#include "checkpoint/weights_index.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "core/json_text.hpp"
#include <filesystem>

namespace trainx::checkpoint {
namespace {

bool exists(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

}  // namespace

bool has_weights(const std::string& folder) {
  return exists(folder + "/" + single_weights_name) || exists(folder + "/" + weights_index_name);
}

WeightsFolder::WeightsFolder(const std::string& folder, const std::string& stem)
    : kept_(stem == "model" ? UnreadTensors::listed : UnreadTensors::refused) {
  const std::string single = folder + "/" + single_file_name(stem);
  if (!exists(single) && exists(folder + "/" + index_name(stem))) {
    open_shards(folder, index_name(stem));
    return;
  }
  if (!exists(single)) {
    const bool pickled = stem == "model" && (exists(folder + "/pytorch_model.bin") ||
                                             exists(folder + "/pytorch_model.bin.index.json"));
    throw UserError(ExitCode::input_missing,
                    folder + " holds neither " + single_file_name(stem) + " nor " +
                        index_name(stem) +
                        (pickled ? "; its pytorch_model.bin is not read: save it once more as "
                                   "safetensors, which transformers' save_pretrained does"
                                 : "; give the folder of a saved model"));
  }
  const SafetensorsReader& file = open(single);
  for (const auto& [name, entry] : file.tensors()) tensors_[name] = {&entry, single};
  for (const auto& [name, type] : file.unread()) unread_[name] = &file;
}

const SafetensorsReader& WeightsFolder::open(const std::string& path) {
  return *(files_[path] = std::make_unique<SafetensorsReader>(path, kept_));
}

void WeightsFolder::open_shards(const std::string& folder, const std::string& index_file) {
  const std::string index = folder + "/" + index_file;
  const WeightMap files = parse_weights_index(read_json_text(index, most_index_bytes), index);
  for (const auto& [name, file] : files) {
    const std::string path = folder + "/" + file;
    if (!files_.count(path)) {
      if (!exists(path))
        throw UserError(ExitCode::input_missing, path + " is missing; " + index_file +
                                                     " says that tensor " + in_quotes(name) +
                                                     " is in it");
      open(path);
    }
    const SafetensorsReader& shard = *files_.at(path);
    if (shard.unread().contains(name)) {
      unread_[name] = &shard;
      continue;
    }
    const auto& tensors = shard.tensors();
    const auto found = tensors.find(name);
    if (found == tensors.end())
      throw UserError(ExitCode::bad_data, path + ": tensor " + in_quotes(name) +
                                              " is missing, which " + index_file +
                                              " says is in it");
    tensors_[name] = {&found->second, path};
  }
  const auto refuse = [&](const std::string& path, const std::string& name) {
    const auto named = files.find(name);
    throw UserError(
        ExitCode::bad_data,
        path + ": tensor " + in_quotes(name) + " is in it, but " + index_file +
            (named == files.end() ? " does not name it"
                                  : " says that it is in " + folder + "/" + named->second));
  };
  for (const auto& [path, file] : files_) {
    for (const auto& [name, entry] : file->tensors())
      if (const auto found = tensors_.find(name);
          found == tensors_.end() || found->second.entry != &entry)
        refuse(path, name);
    for (const auto& [name, type] : file->unread())
      if (const auto found = unread_.find(name);
          found == unread_.end() || found->second != file.get())
        refuse(path, name);
  }
}

void WeightsFolder::require_read(
    const std::function<bool(const std::string&)>& is_parameter) const {
  for (const auto& [name, file] : unread_)
    if (is_parameter(name)) file->refuse_unread(name);
}

}  // namespace trainx::checkpoint
