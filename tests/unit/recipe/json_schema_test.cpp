// What tests/e2e/schema_test.py does not see: that every field is told with what the reader knows
// of it, and described models too.
#include "recipe/json_schema.hpp"
#include "core/number.hpp"
#include "recipe/recipe.hpp"
#include "recipe/schema.hpp"
#include "recipe/value.hpp"
#include "support/catch.hpp"
#include <nlohmann/json.hpp>
#include <set>

namespace trainx::recipe::json_schema_test {
namespace {

using Json = nlohmann::ordered_json;

/// The schema of a dotted key of that type; null where there is none.
Json field_at(const Json& schema, const std::string& key, const std::string& of_type) {
  const std::size_t last = key.rfind('.');
  std::string map = key.substr(0, last);
  const std::string name = key.substr(last + 1);
  if (map == "data.sources[]")
    return schema.at("$defs")
        .at("data.mixture")
        .at("properties")
        .at("sources")
        .at("items")
        .at("properties")
        .value(name, Json());
  if (map == "optimizer.groups[]")
    return schema.at("properties")
        .at("optimizer")
        .at("properties")
        .at("groups")
        .at("items")
        .at("properties")
        .value(name, Json());
  if (!of_type.empty()) {
    const Json& fields = schema.at("$defs").at(map + "." + of_type).at("properties");
    return fields.contains(name) ? fields.at(name) : Json();
  }
  const Json* fields = &schema.at("properties");
  for (std::size_t begin = 0; begin < map.size();) {  // a map may stand in another
    const std::size_t end = std::min(map.find('.', begin), map.size());
    const Json& section = fields->at(map.substr(begin, end - begin));
    fields = &(section.contains("anyOf") ? section.at("anyOf").back() : section).at("properties");
    begin = end + 1;
  }
  return fields->value(name, Json());
}

/// As `trainx show` writes a default.
std::string written(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_float()) return shortest(value.get<double>());
  if (!value.is_array()) return value.dump();
  std::vector<std::string> items;
  for (const Json& item : value) items.push_back(written(item));
  return "[" + joined(items, ", ") + "]";
}

}  // namespace

TEST_CASE("every key is in the JSON Schema with its description, its default and its words") {
  const Json schema = json_schema();
  // keys are collected once: the described model of another test may be among them
  std::set<std::string> types;
  for (const char* what : {"models", "optimizers", "data", "schedules"})
    for (const auto& [name, summary] : list_alternatives(what)) types.insert(name);
  std::size_t defaults = 0;
  for (const FieldHelp& help : schema_keys()) {
    CAPTURE(help.key, help.of_type);
    if (!help.of_type.empty() && !types.contains(help.of_type)) continue;
    const Json field = field_at(schema, help.key, help.of_type);
    REQUIRE(field.is_object());
    CHECK(field.at("description").get<std::string>().starts_with(help.doc));
    const std::size_t comma = help.type.rfind(", ");
    if (comma != std::string::npos)
      CHECK(field.at("description")
                .get<std::string>()
                .ends_with("(" + help.type.substr(comma + 2) + ")"));
    std::vector<Json> forms;
    if (field.contains("anyOf")) forms = field.at("anyOf").get<std::vector<Json>>();
    for (const std::string& word : help.words) {
      if (help.key.ends_with(".type") && !types.contains(word)) continue;
      const bool there = std::any_of(forms.begin(), forms.end(), [&](const Json& form) {
        if (form.contains("enum"))
          return std::find(form.at("enum").begin(), form.at("enum").end(), Json(word)) !=
                 form.at("enum").end();
        if (form.contains("const")) return form.at("const") == word;
        return form.value("type", "") == (word == "null"                      ? "null"
                                          : word == "true" || word == "false" ? "boolean"
                                                                              : "none");
      });
      CHECKED_ELSE(there) FAIL_CHECK(word);
    }
    if (help.default_text.empty() || help.key == "data.sources") continue;
    CHECK(written(field.at("default")) == help.default_text);
    ++defaults;
  }
  CHECK(defaults > 80);
}

TEST_CASE("models that a worker described are in the JSON Schema") {
  options::set_described_models(
      {{"mixer",
        "a mixer",
        {{"rate", 0.5, unit_interval(), "of what"},
         {"path", std::string(), {}, "a file"},
         {"activation", Choice{"gelu", {"relu", "gelu"}}, {}, "which"}}}});
  const Json schema = json_schema();
  options::set_described_models({});
  const Json& options = schema.at("$defs").at("model.options.mixer");
  CHECK(options.at("description") == "mixer: a mixer");
  CHECK_FALSE(options.at("additionalProperties").get<bool>());
  CHECK(options.at("properties").at("rate").at("anyOf").front() ==
        Json::parse(R"({"type": "number", "minimum": 0, "exclusiveMaximum": 1})"));
  CHECK(options.at("properties").at("activation").at("anyOf").front().at("enum") ==
        Json::array({"relu", "gelu"}));
  CHECK(schema.at("properties")
            .at("model")
            .at("properties")
            .at("type")
            .at("anyOf")
            .dump()
            .find("\"mixer\"") != std::string::npos);
  CHECK(schema.at("else").dump().find(
            R"({"required":["options"],"properties":{"options":{"required":["path"]}}})") !=
        std::string::npos);
  CHECK_FALSE(json_schema().dump().find("mixer") != std::string::npos);
}

}  // namespace trainx::recipe::json_schema_test
