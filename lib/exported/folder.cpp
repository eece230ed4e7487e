#include "exported/folder.hpp"
#include "architectures/exported.hpp"
#include "checkpoint/checkpoint.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "core/json_text.hpp"
#include "exported/sha256.hpp"
#include <ATen/ops/empty.h>
#include <c10/core/ScalarType.h>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

namespace trainx::exported {
namespace {

using nlohmann::json;

constexpr const char *graph_file = "graph.json", *constants_file = "constants.safetensors",
                     *manifest_file = "export.json";
constexpr std::int64_t most_graph_bytes = std::int64_t{256} << 20;

[[noreturn]] void fail(const std::string& sentence) {
  throw UserError(ExitCode::bad_data, sentence);
}

json parsed(const std::string& text, const std::string& path) {
  json all = json::parse(text, nullptr, false);
  if (!all.is_object()) fail(path + " is no JSON object");
  return all;
}

void require_hash(const std::string& folder, const std::string& name, const json& hash) {
  if (name.empty() || name.front() == '.' || name.find('/') != std::string::npos)
    fail(folder + " is damaged: it names a file '" + name + "'");
  if (!hash.is_string() || sha256_of_file(folder + "/" + name) != hash.get<std::string>())
    fail(folder + "/" + name + " is not as it was exported: its SHA-256 is another; export the " +
         "model again");
}

void require_hashes(const std::string& folder, const json& of, const std::string& where) {
  const auto hashes = of.find("sha256");
  if (hashes == of.end() || !hashes->is_object()) fail(where + " names no hashes");
  for (const auto& [name, hash] : hashes->items()) require_hash(folder, name, hash);
  for (const char* name : {graph_file, constants_file})
    if (!hashes->contains(name)) fail(where + " has no hash of " + name);
}

/// Of the whole export, before it was trained.
void require_manifest(const std::string& folder) {
  const std::string path = folder + "/" + manifest_file;
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return;
  const json all = parsed(read_json_text(path), path);
  if (all.value("format", json()) != architectures::export_format)
    fail(path + " is of another format than this trainx reads; export the model again");
  require_hashes(folder, all, path);
}

at::Tensor constant_of(const checkpoint::TensorEntry& entry, const std::string& type,
                       const std::string& where) {
  static const std::map<std::string, DType> stored{
      {"f32", DType::f32}, {"bf16", DType::bf16}, {"f16", DType::f16}, {"f64", DType::f64},
      {"i64", DType::i64}, {"i32", DType::i32},   {"i16", DType::i16}, {"u8", DType::u8},
      {"i8", DType::u8},   {"bool", DType::u8},   {"c64", DType::f32}};
  const auto known = type_named(type);
  const auto as = stored.find(type);
  std::vector<std::int64_t> dims = entry.dims;
  const bool is_complex = known && c10::isComplexType(*known);
  if (is_complex && !dims.empty()) dims.pop_back();
  if (!known || as == stored.end() || as->second != entry.dtype)
    fail(where + " is of another type");
  at::Tensor t = at::empty(dims, at::TensorOptions().dtype(*known));
  if (t.nbytes() != entry.data.size()) fail(where + " has another size");
  if (t.numel() > 0) std::memcpy(t.mutable_data_ptr(), entry.data.data(), entry.data.size());
  if (*known == at::kBool)  // any other byte is no bool
    for (std::size_t k = 0; k < entry.data.size(); ++k)
      static_cast<bool*>(t.mutable_data_ptr())[k] = entry.data[k] != std::byte{0};
  return t;
}

std::shared_ptr<const ExportedModel> read(const std::string& folder, const json& about) {
  const std::string path = folder + "/" + graph_file, beside = folder + "/" + constants_file;
  auto model = std::make_shared<ExportedModel>();
  model->graph = parse_graph(read_json_text(path, most_graph_bytes), path);
  const auto length = [&](const char* key) { return about.value(key, std::int64_t{1}); };
  model->lengths = {
      {"tokens", {length("min_length"), length("max_positions")}},
      {"target_tokens", {length("min_target_length"), length("max_target_positions")}}};
  const checkpoint::SafetensorsReader constants(beside);
  std::map<std::string, at::Tensor> tensors;
  for (const auto& [name, entry] : constants.tensors()) {
    const auto type = model->graph.constants.find(name);
    if (type == model->graph.constants.end()) fail(beside + ": '" + name + "' is no constant");
    tensors[name] = constant_of(entry, type->second, beside + ": '" + name + "'");
  }
  for (const auto& [dtype, modules] : model->graph.graphs) {
    model->modules.resize(modules.size());
    for (std::size_t k = 0; k < modules.size(); ++k) {
      std::vector<at::Tensor> its;
      for (const std::string& name : modules[k].constants) {
        const auto found = tensors.find(name);
        if (found == tensors.end()) fail(beside + " lacks '" + name + "'");
        its.push_back(found->second);
      }
      model->modules[k].by_type[dtype] =
          std::make_shared<Interpreter>(modules[k], std::move(its), path);
    }
  }
  const std::vector<ModuleGraph>& named = model->graph.graphs.at("f32");
  for (std::size_t k = 0; k < named.size(); ++k) model->modules[k].graph = &named[k];
  return model;
}

}  // namespace

std::shared_ptr<const ExportedModel> read_export(const std::string& folder,
                                                 const std::string& config) {
  static std::map<std::string, std::shared_ptr<const ExportedModel>> known;
  auto& model = known[folder];
  if (model) return model;
  const json all = parsed(config, folder + "/config.json");
  const auto about = all.find("trainx_export");
  if (about == all.end() || !about->is_object()) fail(folder + "/config.json is of no export");
  require_manifest(folder);
  require_hashes(folder, *about, folder + "/config.json");
  return model = read(folder, *about);
}

}  // namespace trainx::exported
