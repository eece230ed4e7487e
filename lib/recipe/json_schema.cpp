#include "recipe/json_schema.hpp"
#include "core/version.hpp"
#include "recipe/json_forms.hpp"
#include "recipe/short_forms.hpp"
#include "recipe/walk.hpp"
#include "options/model/published.hpp"
#include <algorithm>
#include <utility>

namespace trainx::recipe {
namespace {

/// What one `type` brings: fields beside `type`, or in the section's map of `options`.
struct Alternative {
  std::string name, summary;
  Json fields = Json::object();
  std::vector<std::string> required;
  Json section = Json::object();  // what it says of the section's own keys
};

/// A map of a recipe that is being described.
struct Map {
  std::string key, path;  // path: data, data.sources
  Json fields = Json::object();
  std::vector<std::string> required;
  std::string default_type;  // empty: it has no `type`
  std::vector<Alternative> alternatives;
  bool has_options = false;  // its alternatives are those of its map `options`
};

Json closed(Json fields) {
  return {{"type", "object"},
          {"properties", std::move(fields)},
          {"patternProperties", {{"^x-", true}}},
          {"additionalProperties", false}};
}

Json is_type(const std::string& name) {
  return {{"properties", {{"type", {{"const", name}}}}}, {"required", {"type"}}};
}
Json where_type_is_missing(Json then) {
  return {{"if", {{"required", {"type"}}}}, {"else", std::move(then)}};
}

/// Fields of whichever type: where only the base that a recipe extends, or an interpolation, says
/// which.
Json of_any(const std::vector<Alternative>& alternatives) {
  Json variants = Json::object();
  for (const Alternative& alternative : alternatives) {
    for (const auto& [key, field] : alternative.fields.items()) {
      Json& seen = variants[key];
      if (seen.is_null() || std::find(seen.begin(), seen.end(), field) == seen.end())
        seen.push_back(field);
    }
  }
  Json fields = Json::object();
  for (const auto& [key, seen] : variants.items())
    fields[key] = seen.size() == 1 ? seen.front() : Json{{"anyOf", seen}};
  return fields;
}

class SchemaWalker {
 public:
  Json defs = Json::object();
  Json sections = Json::object();
  /// Of recipes that extend none: their types are their own or the defaults, and what is required
  /// must be there. Else either may be in the base.
  Json whole = Json::array(), partial = Json::array();

  void begin(std::string_view key) {
    Map map;
    map.key = key;
    map.path = (maps_.empty() ? "" : maps_.back().path + ".") + std::string(key);
    maps_.push_back(std::move(map));
  }
  void end() {
    Map map = std::move(maps_.back());
    maps_.pop_back();
    if (maps_.empty()) return add_section(map);
    Map& outer = maps_.back();
    if (map.key != "options") {
      outer.fields[map.key] = with_short_form(map, closed(map.fields));
      return;
    }
    outer.alternatives = std::move(map.alternatives);  // `options`
    outer.has_options = true;
    outer.fields[map.key] = {{"type", "object"}, {"description", "of the type"}};
  }

  template <class T>
  void operator()(std::string_view key, T& value, const Limits& limits, std::string_view doc) {
    Json field = field_schema(value, limits, doc);
    if constexpr (Required<T>) {
      const bool named_by_file = maps_.back().path == "run" && key == "name";
      if (value.empty() && !named_by_file) required().emplace_back(key);
    }
    fields()[std::string(key)] = std::move(field);
  }

  template <class Entry>
  void list(std::string_view key, std::vector<Entry>&, std::string_view doc) {
    Map map;
    map.key = key;
    map.path = maps_.back().path + "." + std::string(key);
    maps_.push_back(std::move(map));
    const bool in_alternative = std::exchange(in_alternative_, false);
    Entry entry;
    walk_entry(*this, entry);
    in_alternative_ = in_alternative;
    map = std::move(maps_.back());
    maps_.pop_back();
    // Lists are replaced by those of a recipe that extends, never merged: each map is whole.
    const bool optional = OfOptionalList<Entry>;
    if (!optional) required().emplace_back(key);
    fields()[std::string(key)] = {{"description", doc},
                                  {"type", "array"},
                                  {"minItems", optional ? 0 : 1},
                                  {"items", item_of_list(map)}};
  }

  template <class Variant>
  void type(Variant& variant) {
    Map& map = maps_.back();
    map.default_type = alternative_name(variant);
    Json forms = Json::array();
    for_each_alternative(variant, [&](const auto& options) {
      forms.push_back({{"const", options.name}, {"description", options.summary}});
    });
    forms.push_back(definition("interpolation"));
    map.fields["type"] = {{"description", "which " + map.path.substr(0, map.path.find('.'))},
                          {"default", map.default_type},
                          {"anyOf", std::move(forms)}};
  }

  template <class Variant>
  void alternative(Variant& variant) {
    in_alternative_ = true;
    for_each_alternative(variant, [&](auto options) {
      Alternative next;
      next.name = options.name;
      next.summary = options.summary;
      if constexpr (requires { published_sizes(options); }) {
        Json names = Json::array();
        for (const auto& size : published_sizes(options)) names.push_back(size.name);
        next.section["size"] = {
            {"anyOf",
             {{{"enum", std::move(names)}}, {{"type", "null"}}, definition("interpolation")}}};
      }
      maps_.back().alternatives.push_back(std::move(next));
      visit_fields(*this, options);
    });
    in_alternative_ = false;
  }

 private:
  Json& fields() {
    return in_alternative_ ? maps_.back().alternatives.back().fields : maps_.back().fields;
  }
  std::vector<std::string>& required() {
    return in_alternative_ ? maps_.back().alternatives.back().required : maps_.back().required;
  }

  void add_section(const Map& map) {
    sections[map.key] =
        with_short_form(map, map.default_type.empty() ? closed(map.fields) : typed_map(map));
    if (map.default_type.empty()) return;
    const auto add = [&](Json& to, Json condition) {
      to.push_back({{"properties", {{map.key, std::move(condition)}}}});
    };
    add(partial, where_type_is_missing(fits(map, "any")));
    add(whole, where_type_is_missing(fits(map, map.default_type)));
    for (Json& condition : requirements(map)) add(whole, std::move(condition));
  }

  Json item_of_list(const Map& map) {
    if (map.default_type.empty()) {
      Json item = closed(map.fields);
      item["required"] = map.required;
      return item;
    }
    Json items = typed_map(map);
    items["allOf"].push_back(where_type_is_missing(fits(map, map.default_type)));
    for (Json& condition : requirements(map)) items["allOf"].push_back(std::move(condition));
    return items;
  }

  static Json with_short_form(const Map& map, Json section) {
    for (const ShortForm& form : short_forms())
      if (form.section == map.path)
        return either(map.fields.at(std::string(form.key)), form, std::move(section));
    return section;
  }

  /// A map with a `type`: its own keys, and by type those of the type.
  Json typed_map(const Map& map) {
    Json out = map.has_options ? closed(map.fields)
                               : Json{{"type", "object"}, {"properties", map.fields}};
    Json own = Json::object();  // described in `out`, and known beside the type's
    for (const auto& [key, field] : map.fields.items()) own[key] = true;
    const auto define = [&](const std::string& name, const std::string& summary,
                            const Json& of_type) {
      Json fields = of_type;
      if (!map.has_options) fields.update(own);
      Json& def = defs[definition_of(map, name)] = closed(std::move(fields));
      if (!summary.empty()) def["description"] = name + ": " + summary;
    };
    Json by_type = Json::array();
    for (const Alternative& alternative : map.alternatives) {
      define(alternative.name, alternative.summary, alternative.fields);
      by_type.push_back({{"if", is_type(alternative.name)}, {"then", fits(map, alternative.name)}});
    }
    define("any", "", of_any(map.alternatives));
    by_type.push_back(
        {{"if", {{"properties", {{"type", definition("interpolation")}}}, {"required", {"type"}}}},
         {"then", fits(map, "any")}});
    out["allOf"] = std::move(by_type);
    return out;
  }

  static std::string definition_of(const Map& map, const std::string& type) {
    return map.path + (map.has_options ? ".options." : ".") + type;
  }

  /// The map as one of that type.
  static Json fits(const Map& map, const std::string& type) {
    if (!map.has_options) return definition(definition_of(map, type));
    Json fields = {{"options", definition(definition_of(map, type))}};
    for (const Alternative& alternative : map.alternatives)
      if (alternative.name == type) fields.update(alternative.section);
    return {{"properties", std::move(fields)}};
  }

  /// What must be there, by type.
  static std::vector<Json> requirements(const Map& map) {
    std::vector<Json> out;
    for (const Alternative& alternative : map.alternatives) {
      if (alternative.required.empty()) continue;
      Json then = {{"required", alternative.required}};
      if (map.has_options)
        then = {{"required", {"options"}}, {"properties", {{"options", std::move(then)}}}};
      out.push_back({{"if", is_type(alternative.name)}, {"then", then}});
      if (alternative.name == map.default_type)
        out.push_back(where_type_is_missing(std::move(then)));
    }
    return out;
  }

  static std::string joined(const KeysAndValues& entries) {
    std::string out;
    for (const auto& [key, value] : entries)
      out += (out.empty() ? "" : ", ") + std::string(key) + ": " + std::string(value);
    return out;
  }

  static Json either(const Json& field, const ShortForm& form, Json section) {
    Json forms = field.at("anyOf");
    const std::string name(form.section), key(form.key);
    std::string words;
    for (const ShortWord& word : short_words())
      if (word.section == form.section) {
        forms.push_back({{"const", word.word}});
        words += "; " + std::string(word.word) + " for {" + joined(word.means) + "}";
      }
    forms.push_back(std::move(section));
    return {{"description", "a value is short for " + name + ": {" + key + ": value}" + words +
                                ": " + field.at("description").get<std::string>()},
            {"anyOf", std::move(forms)}};
  }

  std::vector<Map> maps_;
  bool in_alternative_ = false;
};

}  // namespace

Json json_schema() {
  SchemaWalker walker;
  Recipe defaults;
  walk(walker, defaults);
  Json fields = {{"extends",
                  {{"description",
                    "recipes that this one builds on, relative to its own file: maps are merged, "
                    "the rest is replaced"},
                   {"type", "array"},
                   {"items", definition("path")}}}};
  fields.update(walker.sections);
  Json schema = {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                 {"title", "recipe of trainx"},
                 {"$comment", "written by trainx schema, version " + std::string(version)}};
  schema.update(closed(std::move(fields)));
  schema["if"] = {{"required", {"extends"}}};
  schema["then"] = {{"allOf", std::move(walker.partial)}};
  schema["else"] = {{"allOf", std::move(walker.whole)}};
  schema["$defs"] = scalar_definitions();
  schema["$defs"].update(walker.defs);
  return schema;
}

}  // namespace trainx::recipe
