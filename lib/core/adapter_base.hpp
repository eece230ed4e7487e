// Folders of adapters (PEFT's adapter_config.json) name the model that they belong to.
#pragma once
#include <string>

namespace trainx {

/// adapter_config.json stands there.
bool is_adapter_folder(const std::string& folder);

/// Is it an adapter that names no model, because that began from new weights? Throws UserError 65
/// where its adapter_config.json cannot be read.
bool adapts_new_weights(const std::string& folder);

/// The folder of the model itself: of an adapter's folder its base_model_name_or_path, which may be
/// a folder (as it is, or seen from the adapter's), or an id of the Hugging Face cache; else
/// `folder`. Throws UserError 65 where the adapter names none, 66 where that is not there.
std::string model_folder_of(const std::string& folder);

}  // namespace trainx
