#include "architectures/exported.hpp"
#include "core/error.hpp"

namespace trainx::architectures {

using nlohmann::json;

namespace {

constexpr const char* export_key = "trainx_export";
constexpr const char *folder_field = "export_folder", *config_field = "export_config";

std::string text_of(const CustomOptions& options, const char* key) {
  const OptionField* field = options.find(key);
  return field ? std::get<std::string>(field->value) : std::string();
}

void set_text(CustomOptions& options, const char* key, const std::string& text) {
  if (OptionField* field = options.find(key))
    field->value = text;
  else
    options.fields.push_back({key, text, {}, ""});
}

std::int64_t number(const ConfigReader& config, const json& of, const char* key,
                    std::int64_t least) {
  constexpr std::int64_t most = std::int64_t{1} << 31;
  const auto found = of.find(key);
  if (found == of.end() || !found->is_number_integer() || *found < least || *found > most)
    config.fail(std::string(export_key) + "." + key + " must be a whole number of at least " +
                std::to_string(least));
  return found->get<std::int64_t>();
}

}  // namespace

CustomOptions exported_options() {
  return {std::string(exported_name),
          "Any Hugging Face model that scripts/trainx-export wrote, from model.init_from",
          {{"task",
            Choice{"causal_lm", {"causal_lm", "masked_lm", "classification"}},
            {},
            "what the model was exported for"}}};
}

bool is_exported(const CustomOptions& options) { return options.name == exported_name; }

std::optional<CustomDims> exported_dims(const ConfigReader& config, const std::string& text) {
  const json* of = config.find(export_key);
  if (!of) return std::nullopt;
  if (!of->is_object()) config.fail(std::string(export_key) + " is no object");
  if (const std::int64_t format = number(config, *of, "format", 0); format != export_format)
    config.fail("has the export format " + std::to_string(format) + ", this trainx reads " +
                std::to_string(export_format) + "; export the model again with its own " +
                "scripts/trainx-export");
  CustomDims dims{exported_options()};
  const auto task = of->find("task");
  bool known = false;
  for (const auto& [value, name] : enum_names(Task{}))
    if (task != of->end() && *task == name) dims.task = value, known = true;
  if (!known) config.fail(std::string(export_key) + ".task is none that trainx exports");
  dims.vocab_size = number(config, *of, "vocab_size", 1);
  dims.max_positions = number(config, *of, "max_positions", 1);
  if (dims.task == Task::classification) dims.num_labels = number(config, *of, "num_labels", 2);
  std::get<Choice>(dims.options.find("task")->value).word = task->get<std::string>();
  set_text(dims.options, config_field, text);
  return dims;
}

void set_export(CustomDims& dims, const std::string& folder, const std::string& config) {
  set_text(dims.options, folder_field, folder);
  set_text(dims.options, config_field, config);
}
std::string export_folder(const CustomOptions& options) { return text_of(options, folder_field); }
std::string export_config(const CustomOptions& options) { return text_of(options, config_field); }

std::string exported_family(const CustomOptions& options) {
  const json config = json::parse(export_config(options), nullptr, false);
  if (!config.is_object()) return {};
  const auto type = config.find("model_type");
  return type == config.end() || !type->is_string() ? std::string() : type->get<std::string>();
}

std::string exported_config_text(const CustomDims& dims, const char* dtype) {
  auto config = nlohmann::ordered_json::parse(export_config(dims.options));
  config.erase("dtype");
  config["torch_dtype"] = dtype;
  return config.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace trainx::architectures
