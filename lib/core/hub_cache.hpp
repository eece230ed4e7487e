// The local cache of the Hugging Face hub: models that other tools have downloaded, by their ids.
// trainx only reads it.
#pragma once
#include <optional>
#include <string>

namespace trainx {

/// A model in the cache: models--ORG--NAME/snapshots/REVISION.
struct HubSnapshot {
  std::string id, revision, folder;
};

/// `name` or `org/name` in the characters that the hub allows. Says nothing of whether there is
/// such a model.
bool is_hub_id(const std::string& text);
/// HF_HUB_CACHE, HUGGINGFACE_HUB_CACHE, HF_HOME/hub, XDG_CACHE_HOME/huggingface/hub or
/// ~/.cache/huggingface/hub: the first that is set.
std::string hub_cache_folder();
/// The snapshot that refs/main names, else the only one. Nothing if the cache has none.
std::optional<HubSnapshot> find_in_hub_cache(const std::string& id);
/// The snapshot whose folder this is, by its path alone.
std::optional<HubSnapshot> hub_snapshot_of(const std::string& folder);
/// "gpt2, revision 607a30d, of the Hugging Face cache"
std::string describe(const HubSnapshot& snapshot);
/// Why a folder named `name` cannot be had, and how to get it; `key`: what names it, e.g.
/// model.init_from.
std::string missing_folder(const std::string& name, const std::string& key);

}  // namespace trainx
