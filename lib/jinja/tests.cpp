#include "jinja/bound.hpp"
#include "jinja/runtime.hpp"
#include "jinja/text_parts.hpp"
#include <cmath>
#include <functional>
#include <map>

namespace trainx::jinja {
namespace {

using Test = std::function<bool(Runtime&, const Value&, const Arguments&)>;

template <class Check>
Test alone(const char* name, Check check) {
  return [name, check](Runtime&, const Value& value, const Arguments& a) {
    const Bound none(name, a, {});
    return check(value);
  };
}

Test comparing(const char* op) {
  return [op](Runtime& runtime, const Value& value, const Arguments& a) {
    const Bound b(op, a, {"other"}, 1);
    return compare(runtime, op, value, b[0]);
  };
}

bool is_iterable(const Value& value) {
  return value.is_sequence() || value.is_text() || value.is(Kind::dict) ||
         value.is(Kind::iterator) || value.is(Kind::undefined) || value.is(Kind::loop);
}

bool is_divisible(Runtime& runtime, const Value& value, const Arguments& a) {
  const Bound b("divisibleby", a, {"num"}, 1);
  if (!value.is_number()) fail("divisibleby takes a number, not " + type_name(value));
  return !is_true(arithmetic(runtime, "%", value, b[0]));
}

bool is_odd(const Value& value, const char* what) {
  if (value.is(Kind::real)) return std::fmod(value.as_real(), 2) != 0;
  if (!value.is_integer()) fail(std::string(what) + " takes a number, not " + type_name(value));
  return value.as_integer() % 2 != 0;
}

bool has_text_case(Runtime& runtime, const Value& value, bool upper) {
  return has_case(to_text(runtime, value), upper);
}

std::map<std::string, Test> make_tests() {
  std::map<std::string, Test> out;
  const auto add = [&](const char* name, auto check) { out[name] = alone(name, check); };
  add("defined", [](const Value& v) { return !v.is(Kind::undefined); });
  add("undefined", [](const Value& v) { return v.is(Kind::undefined); });
  add("none", [](const Value& v) { return v.is(Kind::none); });
  add("boolean", [](const Value& v) { return v.is(Kind::boolean); });
  add("true", [](const Value& v) { return v.is(Kind::boolean) && v.as_integer() == 1; });
  add("false", [](const Value& v) { return v.is(Kind::boolean) && v.as_integer() == 0; });
  add("integer", [](const Value& v) { return v.is(Kind::integer); });
  add("float", [](const Value& v) { return v.is(Kind::real); });
  add("number", [](const Value& v) { return v.is_number(); });
  add("string", [](const Value& v) { return v.is_text(); });
  add("mapping", [](const Value& v) { return v.is(Kind::dict); });
  add("sequence", [](const Value& v) {
    return v.is_text() || v.is(Kind::undefined) || v.is(Kind::dict) ||
           (v.is_sequence() && !v.is(Kind::view));
  });
  add("iterable", is_iterable);
  add("callable", [](const Value& v) { return v.is(Kind::callable) || v.is(Kind::loop); });
  add("escaped", [](const Value& v) { return v.is_safe(); });
  add("odd", [](const Value& v) { return is_odd(v, "odd"); });
  add("even", [](const Value& v) { return !is_odd(v, "even"); });
  out["lower"] = [](Runtime& r, const Value& v, const Arguments&) {
    return has_text_case(r, v, false);
  };
  out["upper"] = [](Runtime& r, const Value& v, const Arguments&) {
    return has_text_case(r, v, true);
  };
  out["divisibleby"] = is_divisible;
  out["sameas"] = [](Runtime&, const Value& value, const Arguments& a) {
    const Bound b("sameas", a, {"other"}, 1);
    if (value.kind() != b[0].kind()) return false;
    if (value.is(Kind::none) || value.is(Kind::boolean)) return equal(value, b[0]);
    if (value.is_number() || value.is_text()) unsupported("sameas of a number or a text");
    return value.object() == b[0].object();
  };
  out["in"] = [](Runtime& runtime, const Value& value, const Arguments& a) {
    const Bound b("in", a, {"seq"}, 1);
    return contains(runtime, b[0], value);
  };
  out["filter"] = [](Runtime&, const Value& value, const Arguments&) {
    return is_filter(need_text(value, "filter"));
  };
  out["test"] = [](Runtime&, const Value& value, const Arguments&) {
    return is_test(need_text(value, "test"));
  };
  out["=="] = out["eq"] = out["equalto"] = comparing("==");
  out["!="] = out["ne"] = comparing("!=");
  out[">"] = out["gt"] = out["greaterthan"] = comparing(">");
  out[">="] = out["ge"] = comparing(">=");
  out["<"] = out["lt"] = out["lessthan"] = comparing("<");
  out["<="] = out["le"] = comparing("<=");
  return out;
}

const std::map<std::string, Test>& all_tests() {
  static const std::map<std::string, Test> tests = make_tests();
  return tests;
}

}  // namespace

bool apply_test(Runtime& runtime, const std::string& name, const Value& value,
                const Arguments& arguments) {
  runtime.budget.step();
  const auto found = all_tests().find(name);
  if (found == all_tests().end()) throw TemplateError(Problem::syntax, "there is no test " + name);
  return found->second(runtime, value, arguments);
}

bool is_test(const std::string& name) { return all_tests().contains(name); }

}  // namespace trainx::jinja
