#include "architectures/absent_tensor.hpp"
#include "checkpoint/adapter_folder.hpp"
#include "checkpoint/weights_folder.hpp"
#include "core/adapter_base.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "core/hub_cache.hpp"
#include "core/json_text.hpp"
#include "data/files/file_list.hpp"
#include "data/source.hpp"
#include "facts/facts.hpp"
#include "facts/host_update_rate.hpp"
#include "facts/label_names.hpp"
#include "facts/tokenizers.hpp"
#include <filesystem>

namespace trainx::facts {
namespace {

/// Whether the first sample says which tokens are to be found. A sample that cannot be read is not
/// refused here.
bool gives_targets(const data::Source& source, std::int64_t length) {
  std::vector<std::int32_t> tokens(static_cast<std::size_t>(length)), targets(tokens);
  try {
    return source.read(0, {.tokens = tokens, .targets = targets});
  } catch (const UserError&) { return true; }
}

DataFacts look_at_data(const recipe::Recipe& recipe) {
  data::check_files(recipe.data.source);
  DataFacts found;
  found.label_names = label_names_of(recipe.data.source);
  data::SourceOptions how;
  how.sequence_length = recipe.data.sequence_length;
  how.target_length = recipe::target_length(recipe.data);
  how.seed = static_cast<std::uint64_t>(recipe.run.seed);
  how.scan = false;
  how.targets = data::targets_of(options::task(recipe.model.options));
  // Opens a split without reading its samples. What is not there is noted; what is there and
  // malformed is thrown.
  auto look = [&](data::Split split, bool& present, std::int64_t& samples, std::string& problem) {
    try {
      const auto source = data::open_source(recipe.data.source, split, how);
      if (!source) return;
      present = true;
      samples = source->samples();
      if (source->vocab_size() > found.vocab_size) found.vocab_size = source->vocab_size();
      if (split == data::Split::train && how.targets == data::Targets::own_token)
        found.gives_targets = gives_targets(*source, how.sequence_length);
    } catch (const UserError& error) {
      if (error.code() != ExitCode::input_missing) throw;
      problem = error.what();
    }
  };
  look(data::Split::train, found.train_present, found.train_samples, found.problem);
  look(data::Split::eval, found.eval_present, found.eval_samples, found.eval_problem);
  if (found.eval_present)
    found.entropy_floor_nats = data::entropy_floor_nats(recipe.data.source, data::Split::eval, how);
  return found;
}

}  // namespace

ModelFolderFacts look_at_model_folder(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error))
    throw UserError(ExitCode::input_missing, missing_folder(path, "model.init_from"));
  const std::string file = model_folder_of(path) + "/config.json";
  if (!std::filesystem::exists(file, error)) {
    const std::string why = hub_snapshot_of(path)
                                ? ": the download was not complete; run `hf download " +
                                      hub_snapshot_of(path)->id + "` again"
                                : ", so it is no Hugging Face folder";
    throw UserError(ExitCode::input_missing,
                    "model.init_from: " + path + " holds no config.json" + why);
  }
  const std::string config = read_json_text(file);
  ModelFolderFacts facts{path, config, architectures::dims_from_config(config, file)};
  facts.head_is_tied = lacks_own_head(path, facts.dims);
  if (facts.head_is_tied) architectures::tie_head(facts.dims);
  return facts;
}

AdapterFolderFacts look_at_adapter_folder(const std::string& path) {
  const std::string file = path + "/adapter_config.json";
  std::error_code error;
  if (!std::filesystem::exists(path, error))
    throw UserError(ExitCode::input_missing, missing_folder(path, "model.adapter.init_from"));
  if (!std::filesystem::exists(file, error))
    throw UserError(ExitCode::input_missing, "model.adapter.init_from: " + path +
                                                 " holds no adapter_config.json, so it is no "
                                                 "folder of an adapter");
  AdapterFolderFacts facts{path, read_json_text(file), {}};
  const std::string weights = path + "/" + checkpoint::adapter_weights_name;
  if (std::filesystem::exists(weights, error)) {
    const checkpoint::SafetensorsReader reader(weights);
    for (const auto& [name, entry] : reader.tensors()) facts.tensors.push_back(name);
  }
  return facts;
}

bool lacks_own_head(const std::string& folder, const architectures::ModelDims& dims) {
  const std::string head = architectures::head_of_own(dims);
  const std::string model = model_folder_of(folder);
  return !head.empty() && checkpoint::has_weights(model) &&
         !checkpoint::WeightsFolder(model).tensors().contains(head);
}

Facts gather_facts(const recipe::Recipe& recipe) {
  Facts facts;
  facts.hardware = detect_hardware();
  facts.data = look_at_data(recipe);
  const bool may_update_on_host =
      recipe.memory.optimizer_offload.where != recipe::OptimizerOffload::none || recipe.memory.fit;
  if (may_update_on_host && !facts.hardware.gpus.empty())
    facts.hardware.host_update_bytes_per_s = known_host_update_rate(facts.hardware.cpu_cores);
  if (recipe::uses_disk(recipe.memory))
    facts.offload_folder =
        look_at_offload_folder(offload_folder_of(recipe), !facts.hardware.gpus.empty());
  const auto& from = recipe.model.init_from;
  if (from && recipe.model.adapter.type != options::AdapterType::none && is_adapter_folder(*from))
    throw UserError(ExitCode::invalid_recipe,
                    "model.init_from: " + *from +
                        " is an adapter's folder: name it in model.adapter.init_from to go on from "
                        "it, or give the folder that it was merged into");
  if (from) facts.model_folder = look_at_model_folder(*from);
  if (recipe.model.adapter.init_from)
    facts.adapter_folder = look_at_adapter_folder(*recipe.model.adapter.init_from);
  look_at_tokenizers(recipe, facts);
  return facts;
}

}  // namespace trainx::facts
