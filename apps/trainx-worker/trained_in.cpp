#include "trained_in.hpp"
#include "core/files.hpp"
#include <nlohmann/json.hpp>
#include <filesystem>

namespace trainx::worker {
namespace {

std::string told(const std::string& path, std::initializer_list<const char*> keys) {
  if (!std::filesystem::exists(path)) return "";
  const auto j = nlohmann::json::parse(read_file(path), nullptr, false);
  for (const char* key : keys)
    if (const auto found = j.find(key); j.is_object() && found != j.end() && found->is_string())
      return found->get<std::string>();
  return "";
}

}  // namespace

std::string trained_in(const std::string& folder) {
  if (const std::string ours = told(folder + "/trainer_state.json", {"compute"}); !ours.empty())
    return ours;
  // transformers 5 and those before
  const std::string theirs = told(folder + "/config.json", {"dtype", "torch_dtype"});
  return theirs == "bfloat16"  ? "bf16"
         : theirs == "float16" ? "f16"
         : theirs == "float32" ? "f32"
                               : "";
}

}  // namespace trainx::worker
