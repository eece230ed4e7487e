#include "architectures/own_head.hpp"
#include "checkpoint/adapter_folder.hpp"
#include "checkpoint/carried_files.hpp"
#include "checkpoint/float_elements.hpp"
#include "checkpoint/model_folder.hpp"
#include "checkpoint/weights_folder.hpp"
#include "commands.hpp"
#include "core/adapter_base.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "core/suggest.hpp"
#include "core/json_text.hpp"
#include "inputs.hpp"
#include "merge/merged_adapter.hpp"
#include "plan/adapted_dims.hpp"
#include <algorithm>
#include <filesystem>
#include <optional>
#include <nlohmann/json.hpp>

namespace trainx::app {
namespace {

struct ExportArguments {
  std::string source, target;
  std::string dtype = "fp32", max_shard_size = "5 GiB";
  bool average = false, merge = false;
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
                        const std::map<std::string, std::string>& files, bool parts_head) {
  auto config =
      nlohmann::ordered_json::parse(read_json_text(model_folder_of(folder) + "/config.json"));
  config.erase("dtype");  // newer transformers' name of the same
  config["torch_dtype"] = type.torch_name;
  if (parts_head) config["tie_word_embeddings"] = false;
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

/// A tied head as a tensor of its own, beside the embedding that it begins as.
void part_head(Tensors& tensors, const architectures::ModelDims& dims) {
  const architectures::HeadAndTable own = architectures::own_head(dims);
  tensors.erase(own.head);
  const auto table = std::ranges::find_if(tensors, [&](const auto& tensor) {
    return architectures::parameter_name(dims, tensor.first) == own.table;
  });
  if (table != tensors.end()) tensors.emplace(own.head, table->second);
}

/// Weights that an adapter adds to are summed in fp32 and rounded once; weights that its file has
/// whole take the place of the model's.
void merge_adapter(const merge::MergedAdapter& adapter, const architectures::ModelDims& dims,
                   DType dtype, std::vector<checkpoint::TensorSource>& tensors,
                   const Tensors& weights) {
  const program::ModelGraph graph =
      architectures::model_graph(dims, 1, 1, DType::f32, architectures::GraphOptions::on_cpu(1));
  std::map<std::string, const program::ParameterSpec*> parameters;
  for (const program::GroupSpec& group : graph.groups)
    for (const program::ParameterSpec& p : group.parameters) parameters.emplace(p.name, &p);
  for (checkpoint::TensorSource& tensor : tensors) {
    const std::string parameter = architectures::parameter_name(dims, tensor.name);
    const checkpoint::WeightsFolder::Tensor& of_folder = weights.at(tensor.name);
    const checkpoint::TensorEntry* base = of_folder.entry;
    std::string where = of_folder.file + ": tensor '" + tensor.name + "'";
    if (const auto at = adapter.own().find(parameter); at != adapter.own().end()) {
      const checkpoint::TensorEntry& entry = *(base = at->second);
      where = adapter.path() + ": " + parameter;
      if (entry.dims != tensor.dims)
        throw UserError(ExitCode::bad_data, where + " has other sizes than the model's");
      tensor.fill = [&entry, dtype, where](std::span<std::byte> bytes) {
        checkpoint::convert_elements(entry, dtype, bytes, where);
      };
    }
    if (!adapter.changes(parameter)) continue;
    tensor.fill = [&adapter, base, dtype, dims = tensor.dims, spec = *parameters.at(parameter),
                   where](std::span<std::byte> bytes) {
      std::vector<float> sum = checkpoint::to_floats(*base, where);
      adapter.merge(spec, sum);
      const checkpoint::TensorEntry merged{DType::f32, dims, std::as_bytes(std::span(sum))};
      checkpoint::convert_elements(merged, dtype, bytes, where);
    };
  }
}

/// The adapter alone, as PEFT loads it.
checkpoint::ModelFolder adapter_alone(const std::string& source, DType dtype) {
  const std::string path = source + "/" + checkpoint::adapter_weights_name;
  const auto file = std::make_shared<checkpoint::SafetensorsReader>(path);
  checkpoint::ModelFolder out;
  out.stem = "adapter_model";
  for (const auto& [name, entry] : file->tensors())
    out.tensors.push_back({name,
                           dtype,
                           entry.dims,
                           [file, &entry, dtype,
                            where = path + ": tensor '" + name + "'"](std::span<std::byte> bytes) {
                             checkpoint::convert_elements(entry, dtype, bytes, where);
                           },
                           {}});
  out.text_files = checkpoint::read_carried_files(source);
  out.text_files[checkpoint::adapter_config_name] =
      read_json_text(source + "/" + checkpoint::adapter_config_name);
  return out;
}

int write_export(const ExportArguments& a, const std::string& source,
                 const checkpoint::ModelFolder& model, const Context& context) {
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

int run_export(const ExportArguments& a, const Context& context) {
  const SavedType& type = type_of(a.dtype);
  const std::string source = find_weights(a.source, context).checkpoint;
  const bool adapts = is_adapter_folder(source);
  if (a.merge && !adapts)
    throw UserError(ExitCode::usage, "export: --merge: " + source + " holds no adapter");
  if (adapts && a.average)
    throw UserError(ExitCode::usage, "export: --ema: adapters keep no average that is exported");
  checkpoint::ModelFolder model;
  if (adapts && !a.merge) model = adapter_alone(source, type.dtype);
  model.max_shard_bytes = shard_bytes_of(a.max_shard_size);
  if (adapts && !a.merge) return write_export(a, source, model, context);
  const architectures::ModelDims dims = plan::read_merged_config(source);
  const checkpoint::WeightsFolder weights(model_folder_of(source));
  weights.require_read(
      [&](const std::string& name) { return !architectures::parameter_name(dims, name).empty(); });
  std::optional<checkpoint::WeightsFolder> averages;
  Tensors tensors = weights.tensors();
  require_plain(tensors, source);
  const bool parts_head = architectures::has_partable_head(architectures::read_config(source)) &&
                          !architectures::has_partable_head(dims);
  if (parts_head) part_head(tensors, dims);
  if (a.average) {
    if (!std::filesystem::exists(source + "/optimizer.safetensors") &&
        !std::filesystem::exists(source + "/optimizer.safetensors.index.json"))
      throw UserError(ExitCode::input_missing,
                      "export: --ema: " + source + " is no checkpoint with an optimizer's states");
    averages.emplace(source, "optimizer");
    tensors = averaged(std::move(tensors), *averages, source);
  }
  model.tensors = sources_of(tensors, type.dtype);
  std::optional<merge::MergedAdapter> adapter;
  if (adapts)
    merge_adapter(adapter.emplace(source, dims), dims, type.dtype, model.tensors, tensors);
  model.text_files = checkpoint::read_carried_files(source);
  model.text_files["config.json"] = config_text(source, type, model.text_files, parts_head);
  return write_export(a, source, model, context);
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
  command->add_flag("--merge", a->merge,
                    "Add an adapter to the weights of its model: in fp32, rounded once.");
  command->add_flag("--ema", a->average,
                    "Write the moving average of the weights (optimizer.ema_decay).");
  command->callback(
      [a, &context] { context.run = [a, &context] { return run_export(*a, context); }; });
}

}  // namespace trainx::app
