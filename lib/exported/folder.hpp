// The folder that scripts/trainx-export wrote, or a checkpoint that goes on from one.
#pragma once
#include "exported/interpreter.hpp"
#include <map>
#include <memory>
#include <utility>

namespace trainx::exported {

struct ExportedModule {
  const ModuleGraph* graph = nullptr;                                 // of f32: names
  std::map<std::string, std::shared_ptr<const Interpreter>> by_type;  // "f32", "bf16"
};

struct ExportedModel {
  ExportedGraph graph;
  std::vector<ExportedModule> modules;
  /// Tokens of a row that the graph holds for, by input: tokens, target_tokens.
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> lengths;
};

/// Reads graph.json and constants.safetensors, whose hashes `config` (the folder's config.json)
/// has; where export.json is, all files that it names are held against it. Read once per process
/// and folder. UserError 65 for what is damaged, 66 for what is missing.
std::shared_ptr<const ExportedModel> read_export(const std::string& folder,
                                                 const std::string& config);

}  // namespace trainx::exported
