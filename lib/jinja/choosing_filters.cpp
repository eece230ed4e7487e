// map, select, reject, selectattr and rejectattr.
#include "jinja/bound.hpp"
#include "jinja/filters.hpp"

namespace trainx::jinja {
namespace {

Arguments rest_of(const Arguments& a, std::size_t from) {
  Arguments out;
  if (a.positional.size() > from)
    out.positional.assign(a.positional.begin() + static_cast<std::ptrdiff_t>(from),
                          a.positional.end());
  out.named = a.named;
  return out;
}

Value mapped(Runtime& runtime, const Value& value, const Arguments& a) {
  if (!is_true(value)) return Value::iterator({});
  Items out;
  if (a.positional.empty()) {
    const Bound b("map", a, {"attribute", "default"}, 1);
    const AttributePath path(b[0]);
    const std::optional<Value> otherwise = b.has(1) ? std::optional(b[1]) : std::nullopt;
    for (const Value& one : iterate(runtime, value))
      out.push_back(path.of(runtime, one, otherwise));
    return Value::iterator(std::move(out));
  }
  const std::string& name = need_text(a.positional[0], "map");
  const Arguments rest = rest_of(a, 1);
  for (const Value& one : iterate(runtime, value))
    out.push_back(apply_filter(runtime, name, one, rest));
  return Value::iterator(std::move(out));
}

Filter choosing(const char* filter, bool attribute, bool wanted) {
  return [filter, attribute, wanted](Runtime& runtime, const Value& value, const Arguments& a) {
    if (!is_true(value)) return Value::iterator({});
    if (attribute && a.positional.empty())
      fail(std::string(filter) + " needs the name of an attribute");
    const std::size_t used = attribute ? 1 : 0;
    const AttributePath path = attribute ? AttributePath(a.positional[0]) : AttributePath();
    const bool tests = a.positional.size() > used;
    if (!tests && !a.named.empty()) fail(std::string(filter) + " has no such argument");
    const std::string name = tests ? need_text(a.positional[used], filter) : "";
    const Arguments rest = rest_of(a, used + 1);
    Items out;
    for (const Value& one : iterate(runtime, value)) {
      const Value looked_at = path.of(runtime, one);
      const bool holds = tests ? apply_test(runtime, name, looked_at, rest) : is_true(looked_at);
      if (holds == wanted) out.push_back(one);
    }
    return Value::iterator(std::move(out));
  };
}

}  // namespace

void add_choosing_filters(Filters& filters) {
  filters["map"] = mapped;
  filters["select"] = choosing("select", false, true);
  filters["reject"] = choosing("reject", false, false);
  filters["selectattr"] = choosing("selectattr", true, true);
  filters["rejectattr"] = choosing("rejectattr", true, false);
}

}  // namespace trainx::jinja
