#include "recipe/json_forms.hpp"
#include <algorithm>
#include <cmath>
#include <cstdint>

namespace trainx::recipe {
namespace {

// Regular expressions of ECMA-262, of the simple kind that every implementation takes: nothing
// looks ahead or behind.
const std::string digits = "(0|[1-9][0-9]*)", exponent = "([eE][+-]?[0-9]+)";
const std::string number = digits + "(\\.[0-9]+)?" + exponent + "?";
// As far as an expression can tell: 1.5e0 is not seen.
const std::string whole_number = "(" + digits + "(\\.0+)?|" + digits + "(\\.[0-9]+)?" + exponent +
                                 ")";

// Inside ${...}.
const std::string from_environment = "env:[A-Za-z_][A-Za-z0-9_]*(:-([^$\\}]|\\$+[^$\\{\\}])*\\$*)?";
const std::string reference = "(" + from_environment + "|[A-Za-z0-9_.-]+)",
                  path_reference = "(" + from_environment + "|recipe_dir)";

/// Text in which each ${...} is an interpolation; $${ stands for ${.
std::string text_with(const std::string& inside) {
  return "^([^$]|\\$+[^$\\{]|\\$\\$+\\{|\\$\\{" + inside + "\\})*\\$*$";
}

Json pattern(const std::string& expression, const std::string& says) {
  return {{"type", "string"}, {"pattern", expression}, {"patternErrorMessage", says}};
}

/// Whole limits as integers: 1, not 1.0.
Json bound(double x) {
  constexpr double exact = 9007199254740992.0;  // 2^53
  return x == std::floor(x) && std::abs(x) <= exact ? Json(static_cast<std::int64_t>(x)) : Json(x);
}

void add_limits(Json& form, const Limits& limits) {
  if (std::isfinite(limits.low))
    form[limits.low_open ? "exclusiveMinimum" : "minimum"] = bound(limits.low);
  if (std::isfinite(limits.high))
    form[limits.high_open ? "exclusiveMaximum" : "maximum"] = bound(limits.high);
}

}  // namespace

Json definition(const std::string& name) { return {{"$ref", "#/$defs/" + name}}; }

Json scalar_definitions() {
  Json duration = pattern("^(" + number + " *(epochs?|s|min|h|d|%)|" + whole_number +
                              " *(steps?|tokens?)|" + number + " *[kMBT] +tokens?) *$",
                          "a number and its unit: steps, epochs, tokens (k, M, B, T before it), s, "
                          "min, h, d, or % where a part of the run is meant");
  duration["examples"] = {"2000 steps", "3 epochs", "2B tokens", "30 min"};
  Json size = pattern("^(" + number + " *([KMGT]iB|[kMGT]B)|" + whole_number + " *B) *$",
                      "a number and its unit: B, KiB, MiB, GiB, TiB, kB, MB, GB or TB");
  size["examples"] = {"512 MiB", "8 GiB"};
  const std::string says =
      "interpolations are ${section.key}, ${env:NAME:-default} and ${recipe_dir}; $${ stands for "
      "${";
  Json interpolation = pattern("(^|[^$])\\$\\{" + reference + "\\}", says);
  interpolation["allOf"] = Json::array({definition("text")});  // and nothing in it is malformed
  return {{"text", pattern(text_with(reference), says)},
          {"duration", std::move(duration)},
          {"size", std::move(size)},
          {"interpolation", std::move(interpolation)},
          {"path", pattern(text_with(path_reference),
                           "of interpolations paths take ${env:NAME:-default} and ${recipe_dir}")}};
}

Json scalar_schema(Json scalar_forms) {
  const Json text = definition("text");  // knows interpolations
  if (std::find(scalar_forms.begin(), scalar_forms.end(), text) == scalar_forms.end())
    scalar_forms.push_back(definition("interpolation"));
  return {{"anyOf", std::move(scalar_forms)}};
}

Json forms(bool, const Limits&) { return Json::array({{{"type", "boolean"}}}); }
Json forms(std::int64_t, const Limits& limits) {
  Json form = {{"type", "integer"}};
  add_limits(form, limits);
  const bool below = form.contains("maximum") || form.contains("exclusiveMaximum"),
             above = form.contains("minimum") || form.contains("exclusiveMinimum");
  if (!below) form["maximum"] = INT64_MAX;
  if (!above) form["minimum"] = INT64_MIN;
  return Json::array({std::move(form)});
}
Json forms(double, const Limits& limits) {
  Json form = {{"type", "number"}};
  add_limits(form, limits);
  return Json::array({std::move(form)});
}
Json forms(const std::string&, const Limits&) { return Json::array({definition("text")}); }
Json forms(const Choice& value, const Limits&) { return Json::array({{{"enum", value.words}}}); }
Json forms(const Duration&, const Limits&) { return Json::array({definition("duration")}); }
Json forms(const ByteSize&, const Limits&) { return Json::array({definition("size")}); }
Json forms(const std::vector<std::string>&, const Limits& limits) {
  return Json::array({{{"type", "array"}, {"items", scalar_schema(forms(std::string(), limits))}}});
}
Json forms(const std::vector<std::int64_t>&, const Limits& limits) {
  Json out = forms(std::int64_t{}, limits);
  out.push_back({{"type", "array"}, {"items", scalar_schema(forms(std::int64_t{}, limits))}});
  return out;
}

Json forms(const options::FileList&, const Limits& limits) {
  Json out = forms(std::string(), limits);
  out.push_back({{"type", "array"},
                 {"minItems", 1},
                 {"items", {{"anyOf", forms(std::string(), limits)}, {"minLength", 1}}}});
  return out;
}
Json forms(const options::NameList&, const Limits& limits) {
  return forms(options::FileList(), limits);
}
Json forms(const options::NumbersByName&, const Limits& limits) {
  return Json::array({{{"type", "object"},
                       {"minProperties", 1},
                       {"additionalProperties", {{"anyOf", forms(double(), limits)}}}}});
}
Json forms(const options::TokensByName&, const Limits& limits) {
  Json out = forms(std::vector<std::int64_t>(), limits);
  out.back()["minItems"] = 1;
  out.push_back(
      {{"type", "object"}, {"minProperties", 1}, {"additionalProperties", {{"anyOf", Json(out)}}}});
  return out;
}
Json forms(const options::HeldOut&, const Limits&) {
  return Json::array({pattern("^(" + number + " *%|[1-9][0-9]* *samples?) *$",
                              "a share such as 1 % or a number such as 500 samples")});
}

}  // namespace trainx::recipe
