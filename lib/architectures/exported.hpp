// A model that scripts/trainx-export wrote: to everything but its worker a custom model, whose
// sizes and config.json are those of the exported Hugging Face folder.
#pragma once
#include "architectures/config_reader.hpp"
#include "architectures/custom.hpp"

namespace trainx::architectures {

constexpr std::string_view exported_name = "exported";
constexpr std::int64_t export_format = 1;

CustomOptions exported_options();
bool is_exported(const CustomOptions& options);

/// Of a config.json with the key trainx_export; nothing where it has none. UserError 65 naming the
/// key, also for another format. `text` is the file's.
std::optional<CustomDims> exported_dims(const ConfigReader& config, const std::string& text);

/// What a worker needs beside the recipe's options: the folder that holds the graph and the text of
/// its config.json. They travel as options that no recipe has.
void set_export(CustomDims& dims, const std::string& folder, const std::string& config);
std::string export_folder(const CustomOptions& options);  // empty: not set
std::string export_config(const CustomOptions& options);

/// Its model_type in transformers; empty where the config.json is not set.
std::string exported_family(const CustomOptions& options);

/// The folder's config.json with another dtype, for a checkpoint.
std::string exported_config_text(const CustomDims& dims, const char* dtype);

}  // namespace trainx::architectures
