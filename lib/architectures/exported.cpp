#include "architectures/exported.hpp"
#include "core/error.hpp"
#include <algorithm>

namespace trainx::architectures {

using nlohmann::json;

namespace {

constexpr const char* export_key = "trainx_export";
constexpr const char *folder_field = "export_folder", *config_field = "export_config",
                     *source_field = "export_longest_source",
                     *target_field = "export_longest_target";
// of trainx_export
constexpr const char *shift_key = "target_shift", *most_target_key = "max_target_positions",
                     *fixed_key = "fixed";

std::string text_of(const CustomOptions& options, const char* key) {
  const OptionField* field = options.find(key);
  return field ? std::get<std::string>(field->value) : std::string();
}

std::int64_t number_of(const CustomOptions& options, const char* key) {
  const OptionField* field = options.find(key);
  return field ? std::get<std::int64_t>(field->value) : 0;
}

template <class T>
void set(CustomOptions& options, const char* key, const T& value) {
  if (OptionField* field = options.find(key))
    field->value = value;
  else
    options.fields.push_back({key, value, {}, ""});
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

/// Of a text that was read as a config.json before.
json about_export(const std::string& config) {
  const json all = json::parse(config, nullptr, false);
  return all.is_object() ? all.value(export_key, json::object()) : json::object();
}

void check_fixed(const ConfigReader& config, const json& of) {
  const auto fixed = of.find(fixed_key);
  if (fixed == of.end()) return;  // of an older export
  if (!fixed->is_array() ||
      !std::ranges::all_of(*fixed, [](const json& name) { return name.is_string(); }))
    config.fail(std::string(export_key) + "." + fixed_key + " is no list of names");
}

/// What a decoder reads before a target and where there is none are ids of its vocabulary.
void check_shift(const ConfigReader& config, const json& of, std::int64_t vocab_size) {
  const auto shift = of.find(shift_key);
  if (shift == of.end() || !shift->is_object() || !shift->contains("wraps") ||
      !(*shift)["wraps"].is_boolean())
    config.fail(std::string(export_key) + "." + shift_key + " is no object with start, pad, wraps");
  for (const char* key : {"start", "pad"})
    if (number(config, *shift, key, 0) >= vocab_size)
      config.fail(std::string(export_key) + "." + shift_key + "." + key + " is beyond vocab_size");
}

}  // namespace

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
  if (dims.task == Task::seq2seq) {
    number(config, *of, most_target_key, 1);
    check_shift(config, *of, dims.vocab_size);
  }
  check_fixed(config, *of);
  std::get<Choice>(dims.options.find("task")->value).word = task->get<std::string>();
  set(dims.options, config_field, text);
  return dims;
}

void set_export(CustomDims& dims, const std::string& folder, const std::string& config) {
  set(dims.options, folder_field, folder);
  set(dims.options, config_field, config);
}
void set_target_length(CustomDims& dims, std::int64_t longest_source, std::int64_t longest_target) {
  set(dims.options, source_field, longest_source);
  set(dims.options, target_field, longest_target);
}
std::int64_t target_length(const CustomDims& dims, std::int64_t source_length) {
  const std::int64_t source = number_of(dims.options, source_field),
                     target = number_of(dims.options, target_field);
  return source == 0 ? source_length : (target * source_length + source - 1) / source;
}

std::optional<TargetShift> target_shift(const CustomDims& dims) {
  if (dims.task != Task::seq2seq || !is_exported(dims.options)) return std::nullopt;
  const json shift = about_export(export_config(dims.options)).at(shift_key);
  return TargetShift{shift.at("start"), shift.at("pad"), shift.at("wraps")};
}

std::set<std::string> fixed_tensors(const std::string& config) {
  return about_export(config).value(fixed_key, std::set<std::string>{});
}

std::int64_t most_target_tokens(const std::string& config) {
  return about_export(config).at(most_target_key).get<std::int64_t>();
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
