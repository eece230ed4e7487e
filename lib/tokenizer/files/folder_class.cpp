#include "tokenizer/files/folder_class.hpp"
#include "core/error.hpp"
#include "tokenizer/files/class_names.hpp"
#include "tokenizer/files/read_json.hpp"
#include "yaml/problems.hpp"

namespace trainx::tokenizer {
namespace {

std::string without_fast(std::string name) {
  if (name.ends_with("Fast")) name.resize(name.size() - 4);
  return name;
}

/// The class that a name stands for in transformers, which has several names for some; empty: it
/// knows none.
std::string known_class(const std::string& given) {
  const std::string name = without_fast(given);
  if (name == backend_class || name == "PreTrainedTokenizer" || name == "PythonBackend" ||
      name == "BloomTokenizer")
    return backend_class;
  if (!is_class(name) && !is_class(given)) return {};
  return name == "BartTokenizer" ? "RobertaTokenizer" : name;
}

std::string text_in(const nlohmann::ordered_json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

/// What files say, and what AutoTokenizer makes of it.
class Chooser {
 public:
  Chooser(const std::string& folder, bool has_byte_level) : has_byte_level_(has_byte_level) {
    const auto config = read_json_object(folder + "/config.json"),
               settings = read_json_object(folder + "/tokenizer_config.json");
    type_ = text_in(config, "model_type");
    of_settings_ = text_in(settings, "tokenizer_class");
    of_config_ = text_in(config, "tokenizer_class");
    of_type_ = without_fast(std::string(class_of_type(type_)));
    const auto map = settings.find("auto_map");
    has_code_ = map != settings.end() && (map->is_array() || map->contains("AutoTokenizer"));
    if (has_code_ && ignores_named_class(type_)) has_code_ = false;
    if (has_code_ && of_type_.empty() && known_class(of_settings_).empty())
      throw UserError(ExitCode::bad_data,
                      folder +
                          "/tokenizer_config.json: auto_map names a tokenizer whose code lies "
                          "in the folder, which trainx does not run");
  }

  FolderClass choose() const {
    const std::string& named = of_settings_.empty() ? of_config_ : of_settings_;
    const bool is_named = !named.empty() || !of_type_.empty() || !type_.empty();
    return {class_name(named), is_named};
  }

 private:
  std::string class_name(const std::string& named) const {
    if (!has_code_ && !named.empty()) {
      if (without_fast(named) == "LlamaTokenizer" && !ignores_named_class(type_) && has_byte_level_)
        return backend_class;
      if (!of_type_.empty() && of_type_ != without_fast(named)) {
        if (of_type_ == backend_class) return backend_class;
        const std::string found = known_class(ignores_named_class(type_) ? of_type_ : named);
        return found.empty() ? backend_class : found;
      }
    }
    if (named.empty()) return of_type_.empty() ? backend_class : of_type_;
    const std::string found = known_class(named);
    return found.empty() ? backend_class : found;
  }

  bool has_byte_level_, has_code_ = false;
  std::string type_, of_settings_, of_config_, of_type_;
};

}  // namespace

FolderClass class_of_folder(const std::string& folder, bool has_byte_level) {
  return Chooser(folder, has_byte_level).choose();
}

}  // namespace trainx::tokenizer
