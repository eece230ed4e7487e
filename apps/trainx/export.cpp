#include "checkpoint/carried_files.hpp"
#include "checkpoint/float_elements.hpp"
#include "checkpoint/model_folder.hpp"
#include "checkpoint/weights_folder.hpp"
#include "commands.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "core/suggest.hpp"
#include "core/json_text.hpp"
#include "inputs.hpp"
#include <algorithm>
#include <filesystem>
#include <optional>
#include <nlohmann/json.hpp>

namespace trainx::app {
namespace {

struct ExportArguments {
  std::string source, target;
  std::string dtype = "fp32", max_shard_size = "5 GiB";
  bool average = false;
};

struct SavedType {
  const char* name;  // as a recipe spells it
  DType dtype;
  const char* torch_name;  // as config.json does
};
constexpr SavedType saved_types[] = {{"fp32", DType::f32, "float32"},
                                     {"bf16", DType::bf16, "bfloat16"},
                                     {"fp16", DType::f16, "float16"}};

const SavedType& type_of(const std::string& name) {
  for (const SavedType& t : saved_types)
    if (name == t.name) return t;
  throw UserError(ExitCode::usage, "export: --dtype is fp32, bf16 or fp16, not '" + name + "'" +
                                       did_you_mean(name, {"fp32", "bf16", "fp16"}));
}

std::int64_t shard_bytes_of(const std::string& text) {
  std::string problem;
  const auto size = parse_byte_size(text, problem);
  if (!size) throw UserError(ExitCode::usage, "export: --max-shard-size " + problem);
  if (size->bytes < 1)
    throw UserError(ExitCode::usage, "export: --max-shard-size must be more than nothing");
  return size->bytes;
}

// The source's own config.json, whatever else it says, with the type of what is written now. It was
// read as a model's before. The token that ends a text is that of generation_config.json: some
// readers look at config.json alone.
std::string config_text(const std::string& folder, const SavedType& type,
                        const std::map<std::string, std::string>& files) {
  auto config = nlohmann::ordered_json::parse(read_json_text(folder + "/config.json"));
  config.erase("dtype");  // newer transformers' name of the same
  config["torch_dtype"] = type.torch_name;
  const auto generation = files.find("generation_config.json");
  const auto said = generation == files.end()
                        ? nlohmann::json()
                        : nlohmann::json::parse(generation->second, nullptr, false);
  const auto ends = said.is_object() ? said.value("eos_token_id", nlohmann::json()) : said;
  if (!ends.is_null() && !ends.is_discarded()) config["eos_token_id"] = ends;
  return config.dump(2) + "\n";
}

using Tensors = std::map<std::string, checkpoint::WeightsFolder::Tensor>;

// Where the checkpoint keeps a moving average of a tensor, that instead: `averages` is the
// optimizer's part of it. Frozen tensors have none.
Tensors averaged(Tensors weights, const checkpoint::WeightsFolder& averages,
                 const std::string& source) {
  bool any = false;
  for (auto& [name, tensor] : weights)
    if (const auto found = averages.tensors().find("ema." + name);
        found != averages.tensors().end())
      tensor = found->second, any = true;
  if (!any)
    throw UserError(ExitCode::input_missing,
                    "export: --ema: " + source +
                        " keeps no average of its weights; train with optimizer.ema_decay");
  return weights;
}

/// Blocks of 4 bits are read for training alone.
void require_plain(const Tensors& weights, const std::string& source) {
  for (const auto& [name, tensor] : weights)
    if (tensor.entry->dtype == DType::u8 && name.ends_with("_blocks"))
      throw UserError(ExitCode::bad_data, "export: " + source +
                                              " holds weights in mxfp4, which export does not " +
                                              "convert; train it for a step and export the run");
}

// In the order that they lie in the files. What is no weight (constant masks of older folders)
// stays as it is.
std::vector<checkpoint::TensorSource> sources_of(const Tensors& weights, DType dtype) {
  using Tensor = checkpoint::WeightsFolder::Tensor;
  std::vector<std::pair<std::string, Tensor>> in_order(weights.begin(), weights.end());
  std::ranges::stable_sort(in_order, {}, [](const auto& t) {
    return std::pair(t.second.file, t.second.entry->data.data());
  });
  std::vector<checkpoint::TensorSource> out;
  for (const auto& [name, tensor] : in_order) {
    const auto& entry = *tensor.entry;
    const bool weight = checkpoint::is_weight_dtype(entry.dtype);
    out.push_back({name, weight ? dtype : entry.dtype, entry.dims,
                   [&entry, weight, dtype,
                    where = tensor.file + ": tensor '" + name + "'"](std::span<std::byte> bytes) {
                     if (weight)
                       checkpoint::convert_elements(entry, dtype, bytes, where);
                     else
                       std::ranges::copy(entry.data, bytes.begin());
                   }});
  }
  return out;
}

int run_export(const ExportArguments& a, const Context& context) {
  const SavedType& type = type_of(a.dtype);
  checkpoint::ModelFolder model;
  model.max_shard_bytes = shard_bytes_of(a.max_shard_size);
  const std::string source = find_weights(a.source, context).checkpoint;
  const architectures::ModelDims dims = architectures::read_config(source);
  const checkpoint::WeightsFolder weights(source);
  weights.require_read(
      [&](const std::string& name) { return !architectures::parameter_name(dims, name).empty(); });
  std::optional<checkpoint::WeightsFolder> averages;
  Tensors tensors = weights.tensors();
  require_plain(tensors, source);
  if (a.average) {
    if (!std::filesystem::exists(source + "/optimizer.safetensors") &&
        !std::filesystem::exists(source + "/optimizer.safetensors.index.json"))
      throw UserError(ExitCode::input_missing,
                      "export: --ema: " + source + " is no checkpoint with an optimizer's states");
    averages.emplace(source, "optimizer");
    tensors = averaged(std::move(tensors), *averages, source);
  }
  model.tensors = sources_of(tensors, type.dtype);
  model.text_files = checkpoint::read_carried_files(source);
  model.text_files["config.json"] = config_text(source, type, model.text_files);
  const auto files = checkpoint::write_model_folder(a.target, model);
  if (context.output.json)
    print(nlohmann::ordered_json{{"event", "exported"},
                                 {"source", source},
                                 {"folder", a.target},
                                 {"dtype", a.dtype},
                                 {"files", files}}
              .dump());
  else
    say(context, "wrote " + a.target + " from " + source + " in " + a.dtype + ": " +
                     std::to_string(files.size()) + " files");
  return 0;
}

}  // namespace

void add_export(CLI::App& app, Context& context) {
  CLI::App* command =
      app.add_subcommand("export", "Write a trained model as a Hugging Face folder.");
  context.usage[command] = "RUN|CHECKPOINT FOLDER [options]";
  const auto a = std::make_shared<ExportArguments>();
  command
      ->add_option("RUN", a->source,
                   "Folder of a run (its newest checkpoint), one of its checkpoints, or a Hugging "
                   "Face folder.")
      ->required();
  command->add_option("FOLDER", a->target, "Folder to create; it must not hold anything.")
      ->required();
  command->add_option("--dtype", a->dtype, "Type of the weights, rounded to nearest even (fp32).")
      ->type_name("fp32|bf16|fp16");
  command
      ->add_option("--max-shard-size", a->max_shard_size,
                   "Largest file; larger weights become several files with an index (5 GiB).")
      ->type_name("SIZE");
  command->add_flag("--ema", a->average,
                    "Write the moving average of the weights (optimizer.ema_decay).");
  command->callback(
      [a, &context] { context.run = [a, &context] { return run_export(*a, context); }; });
}

}  // namespace trainx::app
