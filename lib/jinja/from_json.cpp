#include "jinja/from_json.hpp"
#include "jinja/error.hpp"
#include <limits>

namespace trainx::jinja {
namespace {

using nlohmann::ordered_json;

/// `containers`: lists and objects get a place too. What the arguments of a call hold does not:
/// templates write it as they like.
Value converted(const ordered_json& json, const std::string& place, bool containers) {
  switch (json.type()) {
    case ordered_json::value_t::boolean: return Value::boolean(json.get<bool>());
    case ordered_json::value_t::number_integer: return Value::integer(json.get<std::int64_t>());
    case ordered_json::value_t::number_unsigned:
      if (json.get<std::uint64_t>() >
          static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
        unsupported("a whole number beyond 64 bits");
      return Value::integer(json.get<std::int64_t>());
    case ordered_json::value_t::number_float: return Value::real(json.get<double>());
    case ordered_json::value_t::string: return Value::text(json.get<std::string>());
    case ordered_json::value_t::array: {
      Items items;
      for (std::size_t i = 0; i < json.size(); ++i)
        items.push_back(converted(
            json[i], place.empty() ? place : place + "[" + std::to_string(i) + "]", containers));
      Value out = Value::list(std::move(items));
      if (containers) out.set_place(place);
      return out;
    }
    case ordered_json::value_t::object: {
      auto dict = std::make_shared<Dict>();
      for (const auto& [key, value] : json.items()) {
        const bool inside = containers && key != "arguments";
        Value one = converted(value, place.empty() ? place : place + "." + key, inside);
        if (containers && !place.empty()) one.set_place(place + "." + key);
        dict->set(key, std::move(one));
      }
      Value out = make_dict(std::move(dict));
      if (containers) out.set_place(place);
      return out;
    }
    default: {
      Value out = Value::none();
      if (!place.empty()) out.set_place(place);
      return out;
    }
  }
}

}  // namespace

Value from_json(const ordered_json& json, const std::string& place) {
  return converted(json, place, !place.empty());
}

}  // namespace trainx::jinja
