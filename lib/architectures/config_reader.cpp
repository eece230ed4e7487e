#include "architectures/config_reader.hpp"
#include "architectures/families/class_keys.hpp"
#include "architectures/limits.hpp"
#include "core/error.hpp"
#include <algorithm>
#include <cctype>

namespace trainx::architectures {

using nlohmann::json;

std::string shown(const json& value) {
  constexpr std::size_t longest = 60;
  if (value.is_structured()) return value.is_array() ? "a list" : "an object";
  const std::string text = value.dump(-1, ' ', true);
  return text.size() <= longest ? text : text.substr(0, longest) + "...";
}

std::string shown_key(const std::string& key) {
  const bool is_plain = !key.empty() && key.size() <= 60 && std::ranges::all_of(key, [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '-';
  });
  return is_plain ? key : shown(key);
}

ConfigReader::ConfigReader(const std::string& text, const std::string& path, ExitCode code)
    : path_(path), code_(code) {
  try {
    config_ = json::parse(text);
  } catch (const json::parse_error& e) {
    throw UserError(ExitCode::bad_data,
                    path + " is not JSON (byte " + std::to_string(e.byte) +
                        "); it must be the config.json of a Hugging Face model");
  } catch (const json::out_of_range&) {  // 1e999
    throw UserError(
        ExitCode::bad_data,
        path +
            " has a number that is too large; it must be the config.json of a Hugging Face model");
  }
  if (!config_.is_object()) fail("it must be a JSON object");
}

void ConfigReader::fail(const std::string& what) const {
  throw UserError(code_, path_ + ": " + what);
}

const json* ConfigReader::find(const char* key) const {
  asked_.insert(key);
  const auto it = config_.find(key);
  return it == config_.end() || it->is_null() ? nullptr : &*it;
}

bool ConfigReader::is_null(const char* key) const {
  const auto it = config_.find(key);
  return it != config_.end() && it->is_null();
}

bool ConfigReader::flag(const char* key, bool otherwise) const {
  const json* j = find(key);
  if (!j) return otherwise;
  if (!j->is_boolean()) fail(std::string(key) + " is " + shown(*j) + "; it must be true or false");
  return j->get<bool>();
}

bool is_off(const json& value) {
  return value.is_null() || value == false || (value.is_number() && value == 0) || value == "none";
}

void ConfigReader::refuse_unknown() const {
  // What classes read of initial weights, caches, slices of products and other tasks: no logit
  // follows from them.
  static const std::set<std::string, std::less<>> harmless{
      "initializer_range", "init_std",   "use_cache",
      "pretraining_tp",    "num_labels", "classifier_dropout"};
  // of every configuration class: other weights than the tensors of the file, other layers
  static const std::set<std::string, std::less<>> common{"quantization_config", "per_layer_config"};
  const auto type = config_.find("model_type");
  const std::string model_type =
      type != config_.end() && type->is_string() ? type->get<std::string>() : "";
  for (const auto& [key, value] : config_.items()) {
    if (value.is_null() || asked_.contains(key) || harmless.contains(key) || key.starts_with("_") ||
        key.ends_with("_token_id"))
      continue;
    const KeyDefault taken = common.contains(key) ? KeyDefault::off : key_default(model_type, key);
    if (taken == KeyDefault::not_read || (taken == KeyDefault::off && is_off(value))) continue;
    fail(shown_key(key) + " is " + shown(value) + ", a setting that trainx does not know");
  }
}

std::int64_t ConfigReader::dimension(const char* key, std::optional<std::int64_t> otherwise) const {
  const json* j = find(key);
  const auto refuse_larger = [&](std::int64_t size) {
    if (size > most_of_a_size)
      fail(std::string(key) + (j ? " is " : ", which follows from others, would be ") +
           std::to_string(size) + "; it must be at most " + std::to_string(most_of_a_size));
    return size;
  };
  if (!j && otherwise) return refuse_larger(*otherwise);
  if (!j) fail(std::string(key) + " is missing");
  if (!j->is_number_integer() || j->get<std::int64_t>() < 1)
    fail(std::string(key) + " is " + shown(*j) + "; it must be a whole number of at least 1");
  return refuse_larger(j->get<std::int64_t>());
}

double ConfigReader::number(const char* key, double otherwise, const Limits& limits) const {
  const json* j = find(key);
  if (!j) return otherwise;
  if (!j->is_number() || !limits.contains(j->get<double>()))
    fail(std::string(key) + " is " + shown(*j) + "; it must be " + limits.says);
  return j->get<double>();
}

void ConfigReader::require(const char* key, const std::vector<json>& supported) const {
  const json* j = find(key);
  if (!j) return;
  for (const json& value : supported)
    if (*j == value) return;
  std::string list;
  for (const json& value : supported) list += (list.empty() ? "" : " or ") + value.dump();
  fail(std::string(key) + " is " + shown(*j) + ", which trainx does not compute; only " + list);
}

std::size_t ConfigReader::model_type(const std::vector<std::string>& known) const {
  const json* j = find("model_type");
  std::string list;
  for (std::size_t i = 0; i < known.size(); ++i) {
    if (j && *j == known[i]) return i;
    list += (list.empty() ? "\"" : " or \"") + known[i] + "\"";
  }
  if (!j) fail("model_type is missing; it must be " + list);
  fail("model_type is " + shown(*j) + ", which trainx does not compute; only " + list);
}

void ConfigKeys::heads_divide(const char* size_key, std::int64_t size, const char* heads_key,
                              std::int64_t heads) {
  if (file_ && size % heads != 0)
    file_->fail(std::string(size_key) + " (" + std::to_string(size) + ") must be a multiple of " +
                heads_key + " (" + std::to_string(heads) + ")");
}

std::vector<std::string> dropout_remarks(const std::string& path, double trained, KeyedDropout main,
                                         KeyedDropout other) {
  const auto shown_of = [](KeyedDropout d) { return d.first + (" " + json(d.second).dump()); };
  std::vector<std::string> out;
  if (other.second != main.second && trained == main.second)
    out.push_back(path + " has " + shown_of(main) + " and " + shown_of(other) +
                  "; trainx has one dropout for both and takes " + json(main.second).dump() +
                  " (model.options.dropout sets another)");
  return out;
}

}  // namespace trainx::architectures
