#include "jinja/bound.hpp"
#include "jinja/runtime.hpp"
#include <algorithm>
#include <array>

namespace trainx::jinja {
namespace {

Value method_of_dict(const Value& value, const std::string& name) {
  if (name == "get")
    return make_callable([value](Runtime&, const Arguments& a) {
      if (!a.named.empty()) fail("get takes no keyword arguments");
      const Bound b("get", a, {"key", "default"}, 1);
      if (!is_hashable(b[0])) fail("unhashable type: '" + type_name(b[0]) + "'");
      const Value* found = value.as<Dict>().find(b[0]);
      return found ? *found : b.has(1) ? b[1] : Value::none();
    });
  if (name == "items" || name == "keys" || name == "values")
    return make_callable([value, name](Runtime& runtime, const Arguments& a) {
      const Bound none(name, a, {});
      Items out;
      runtime.budget.take_items(value.as<Dict>().entries().size() * 3);
      for (const auto& [key, item] : value.as<Dict>().entries())
        out.push_back(name == "keys" ? key : name == "values" ? item : Value::tuple({key, item}));
      return make_view("dict_" + name, std::move(out));
    });
  if (name == "copy")
    return make_callable([value](Runtime& runtime, const Arguments& a) {
      const Bound none("copy", a, {});
      auto out = std::make_shared<Dict>();
      runtime.budget.take_items(value.as<Dict>().entries().size() * 2);
      for (const auto& [key, item] : value.as<Dict>().entries()) out->set(key, item);
      return make_dict(std::move(out));
    });
  if (name == "fromkeys") unsupported("the method fromkeys");
  return {};
}

Value method_of_sequence(const Value& value, const std::string& name) {
  if (name == "count")
    return make_callable([value](Runtime& runtime, const Arguments& a) {
      const Bound b("count", a, {"value"}, 1);
      runtime.budget.take_items(value.weight());
      return Value::integer(
          std::ranges::count_if(value.items(), [&](const Value& one) { return equal(one, b[0]); }));
    });
  if (name == "index")
    return make_callable([value](Runtime& runtime, const Arguments& a) {
      const Bound b("index", a, {"value"}, 1);
      runtime.budget.take_items(value.weight());
      const auto found =
          std::ranges::find_if(value.items(), [&](const Value& one) { return equal(one, b[0]); });
      if (found == value.items().end()) fail("the value is not in the list");
      return Value::integer(found - value.items().begin());
    });
  if (name == "copy" && value.is(Kind::list))
    return make_callable([value](Runtime& runtime, const Arguments& a) {
      const Bound none("copy", a, {});
      return made_list(runtime, value.items());
    });
  return {};
}

}  // namespace

Value container_method(const Value& value, const std::string& name) {
  static constexpr std::array of_dict{"clear", "pop", "popitem", "setdefault", "update"};
  static constexpr std::array of_list{"append", "clear",  "extend",  "insert",
                                      "pop",    "remove", "reverse", "sort"};
  const auto is_one_of = [&](const auto& names) {
    return std::ranges::find(names, name) != names.end();
  };
  if (value.is(Kind::dict) ? is_one_of(of_dict) : value.is(Kind::list) && is_one_of(of_list))
    return Value::undefined("access to attribute '" + name + "' of '" + type_name(value) +
                            "' object is unsafe: templates change no values");
  if (value.is(Kind::dict)) return method_of_dict(value, name);
  if (value.is(Kind::range) && (name == "start" || name == "stop" || name == "step"))
    return Value::integer(value.as<Sequence>().range[name == "start" ? 0 : name == "stop" ? 1 : 2]);
  return method_of_sequence(value, name);
}

}  // namespace trainx::jinja
