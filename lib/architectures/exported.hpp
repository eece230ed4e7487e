// A model that scripts/trainx-export wrote: to everything but its worker a custom model, whose
// sizes and config.json are those of the exported Hugging Face folder.
#pragma once
#include "architectures/config_reader.hpp"
#include "architectures/custom.hpp"
#include "options/model/exported.hpp"
#include <set>

namespace trainx::architectures {

constexpr std::int64_t export_format = 1;

/// Of a config.json with the key trainx_export; nothing where it has none. UserError 65 naming the
/// key, also for another format. `text` is the file's.
std::optional<CustomDims> exported_dims(const ConfigReader& config, const std::string& text);

/// What a worker needs beside the recipe's options: the folder that holds the graph and the text of
/// its config.json. They travel as options that no recipe has.
void set_export(CustomDims& dims, const std::string& folder, const std::string& config);
/// seq2seq: data.sequence_length and data.target_length, which travel likewise. Shorter rows keep
/// their ratio.
void set_target_length(CustomDims& dims, std::int64_t longest_source, std::int64_t longest_target);
/// Tokens of a target beside sources of that many; as many where targets are the tokens' own text.
std::int64_t target_length(const CustomDims& dims, std::int64_t source_length);
/// seq2seq: how its decoder's input follows from the targets.
std::optional<TargetShift> target_shift(const CustomDims& dims);
std::string export_folder(const CustomOptions& options);  // empty: not set
std::string export_config(const CustomOptions& options);

/// Names of what is saved with the weights and is none: buffers, and parameters that the model's
/// own code does not train. `config` was read before.
std::set<std::string> fixed_tensors(const std::string& config);

/// seq2seq: tokens of the longest target that it was exported for. `config` was read before.
std::int64_t most_target_tokens(const std::string& config);

/// Its model_type in transformers; empty where the config.json is not set.
std::string exported_family(const CustomOptions& options);

/// The folder's config.json with another dtype, for a checkpoint.
std::string exported_config_text(const CustomDims& dims, const char* dtype);

}  // namespace trainx::architectures
