#include "recipe/schema.hpp"
#include "recipe/key_path.hpp"
#include "recipe/value.hpp"
#include "recipe/walk.hpp"
#include <algorithm>

namespace trainx::recipe {
namespace {

class HelpWalker {
 public:
  std::vector<FieldHelp> fields;

  void begin(std::string_view key) { path_.push(key); }
  void end() { path_.pop(); }

  template <class T>
  void operator()(std::string_view key, T& value, const Limits& limits, std::string_view doc) {
    std::string text = write_value(value);
    if constexpr (Required<T>) {
      if (value.empty()) text.clear();
    }
    const std::string limit = limits.says.empty() ? "" : ", " + limits.says;
    fields.push_back({path_.child(key), type_text(value) + limit, text, std::string(doc), of_type_,
                      value_words(value)});
  }
  /// The keys of the entries' types are those that a single source has: they are told once, there.
  template <class Entry>
  void list(std::string_view key, std::vector<Entry>&, std::string_view doc) {
    fields.push_back({path_.child(key), "list of maps", "", std::string(doc), of_type_, {}});
    path_.push(std::string(key) + "[]");
    Entry entry;
    visit_fields(*this, entry);
    if constexpr (requires { entry.source; }) type(entry.source);
    path_.pop();
  }
  template <class Variant>
  void type(Variant& variant) {
    fields.push_back({path_.child("type"), joined(alternative_names(variant), " | "),
                      alternative_name(variant), "which " + path_.section(), of_type_,
                      alternative_names(variant)});
  }
  template <class Variant>
  void alternative(Variant& variant) {
    for_each_alternative(variant, [&](auto options) {
      of_type_ = options.name;
      visit_fields(*this, options);
    });
    of_type_.clear();
  }

 private:
  KeyPath path_;
  std::string of_type_;
};

template <class Variant>
std::vector<std::pair<std::string, std::string>> summaries(const Variant& variant) {
  std::vector<std::pair<std::string, std::string>> out;
  for_each_alternative(
      variant, [&](const auto& options) { out.emplace_back(options.name, options.summary); });
  return out;
}

}  // namespace

const std::vector<FieldHelp>& schema_keys() {
  static const std::vector<FieldHelp> keys = [] {
    HelpWalker walker;
    Recipe defaults;
    walk(walker, defaults);
    return std::move(walker.fields);
  }();
  return keys;
}

std::vector<std::pair<std::string, std::string>> list_alternatives(const std::string& what) {
  if (what == "optimizers") return summaries(options::OptimizerOptions{});
  if (what == "models") return summaries(options::ModelOptions{});
  if (what == "data") return summaries(options::DataOptions{});
  if (what == "schedules") return summaries(options::ScheduleOptions{});
  return {};
}

}  // namespace trainx::recipe
