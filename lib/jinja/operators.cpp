#include "jinja/bound.hpp"
#include "jinja/runtime.hpp"
#include <algorithm>
#include <cmath>

namespace trainx::jinja {
namespace {

[[noreturn]] void overflow() { unsupported("a whole number beyond 64 bits"); }

std::int64_t checked(const std::string& op, std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  if (op == "+"   ? __builtin_add_overflow(a, b, &out)
      : op == "-" ? __builtin_sub_overflow(a, b, &out)
                  : __builtin_mul_overflow(a, b, &out))
    overflow();
  return out;
}

std::int64_t floor_quotient(std::int64_t a, std::int64_t b) {
  if (b == 0) fail("division by zero");
  if (b == -1) return checked("-", 0, a);
  const std::int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

std::int64_t power(std::int64_t base, std::int64_t exponent) {
  std::int64_t out = 1;
  for (; exponent > 0; --exponent) {
    out = checked("*", out, base);
    if (out == 0 || out == 1) return base == -1 ? (exponent % 2 == 1 ? out : -out) : out;
    if (base == -1) return exponent % 2 == 1 ? -1 : 1;
  }
  return out;
}

double real_modulo(double a, double b) {
  double rest = std::fmod(a, b);
  if (rest != 0 && (rest < 0) != (b < 0)) rest += b;
  return rest == 0 ? std::copysign(0.0, b) : rest;
}

Value of_numbers(const std::string& op, const Value& a, const Value& b) {
  const bool whole = a.is_integer() && b.is_integer();
  const std::int64_t i = a.as_integer(), j = b.as_integer();
  const double x = a.as_real(), y = b.as_real();
  if (op == "/" || (!whole && (op == "//" || op == "%")))
    if (y == 0) fail("division by zero");
  if (op == "/") return Value::real(x / y);
  if (whole) {
    if (op == "//") return Value::integer(floor_quotient(i, j));
    if (op == "%") {
      if (j == 0) fail("division by zero");
      return Value::integer(j == -1 ? 0 : i - floor_quotient(i, j) * j);
    }
    if (op != "**") return Value::integer(checked(op, i, j));
    if (j >= 0) return Value::integer(power(i, j));
    if (i == 0) fail("0 cannot be raised to a negative power");
    return Value::real(std::pow(x, y));
  }
  if (op == "+") return Value::real(x + y);
  if (op == "-") return Value::real(x - y);
  if (op == "*") return Value::real(x * y);
  if (op == "//") return Value::real(std::floor((x - real_modulo(x, y)) / y + 0.5));
  if (op == "%") return Value::real(real_modulo(x, y));
  if (x == 0 && y < 0) fail("0.0 cannot be raised to a negative power");
  if (x < 0 && y != std::floor(y)) unsupported("a complex number");
  return Value::real(std::pow(x, y));
}

Value added_texts(Runtime& runtime, const Value& a, const Value& b) {
  const std::string &x = a.as_text(), &y = b.as_text();
  runtime.budget.take(x.size() + y.size() + 32);
  if (!a.is_safe() && !b.is_safe()) return Value::text(x + y);
  return Value::safe_text((a.is_safe() ? x : escape_html(x)) + (b.is_safe() ? y : escape_html(y)));
}

Value added_lists(Runtime& runtime, const Value& a, const Value& b) {
  runtime.budget.take_items(a.items().size() + b.items().size() + 1);
  Items out = a.items();
  out.insert(out.end(), b.items().begin(), b.items().end());
  return a.is(Kind::tuple) ? Value::tuple(std::move(out)) : Value::list(std::move(out));
}

Value repeated(Runtime& runtime, const Value& value, std::int64_t times) {
  times = std::max<std::int64_t>(times, 0);
  const std::size_t size = value.is_text() ? value.as_text().size() : value.items().size();
  if (size > 0 && times > (std::int64_t{1} << 40)) times = std::int64_t{1} << 40;
  if (value.is_text()) {
    runtime.budget.take(size * static_cast<std::size_t>(size > 0 ? times : 0));
    std::string out;
    for (std::int64_t i = 0; size > 0 && i < times; ++i) out += value.as_text();
    return value.is_safe() ? Value::safe_text(std::move(out)) : Value::text(std::move(out));
  }
  runtime.budget.take_items(size * static_cast<std::size_t>(size > 0 ? times : 0));
  Items out;
  for (std::int64_t i = 0; size > 0 && i < times; ++i)
    out.insert(out.end(), value.items().begin(), value.items().end());
  return value.is(Kind::tuple) ? Value::tuple(std::move(out)) : Value::list(std::move(out));
}

/// What an operand is called in a refusal: with its place in the conversation, if it has one.
std::string named(const Value& value) {
  const std::string type = "\"" + type_name(value) + "\"";
  return value.place().empty() ? type : type + " (" + value.place() + ")";
}

[[noreturn]] void wrong_operands(const std::string& op, const Value& a, const Value& b) {
  for (const Value* one : {&a, &b})
    if (one->is(Kind::undefined))
      fail(one->object() ? one->as<Note>().text : std::string("a value is undefined"));
  if (op == "+" && a.is_text()) fail("can only concatenate str (not " + named(b) + ") to str");
  fail("unsupported operand types for " + op + ": " + named(a) + " and " + named(b));
}

}  // namespace

Value unary(Runtime& runtime, const std::string& op, const Value& value) {
  runtime.budget.step();
  if (op == "not") return Value::boolean(!is_true(value));
  if (!value.is_number()) {
    if (value.is(Kind::undefined)) wrong_operands(op, value, value);
    fail("bad operand type for unary " + op + ": " + named(value));
  }
  if (value.is(Kind::real)) return Value::real(op == "-" ? -value.as_real() : value.as_real());
  return Value::integer(op == "-" ? checked("-", 0, value.as_integer()) : value.as_integer());
}

Value arithmetic(Runtime& runtime, const std::string& op, const Value& a, const Value& b) {
  runtime.budget.step();
  if (a.is_number() && b.is_number()) return of_numbers(op, a, b);
  const auto is_list = [](const Value& v) { return v.is(Kind::list) || v.is(Kind::tuple); };
  if (op == "+" && a.is_text() && b.is_text()) return added_texts(runtime, a, b);
  if (op == "+" && is_list(a) && a.kind() == b.kind()) return added_lists(runtime, a, b);
  if (op == "*" && (a.is_text() || is_list(a)) && b.is_integer())
    return repeated(runtime, a, b.as_integer());
  if (op == "*" && (b.is_text() || is_list(b)) && a.is_integer())
    return repeated(runtime, b, a.as_integer());
  if (op == "%" && a.is_text()) {
    if (a.is_safe()) unsupported("% of a text that is marked safe");
    return made_text(runtime, format_percent(runtime, a.as_text(), b));
  }
  wrong_operands(op, a, b);
}

bool contains(Runtime& runtime, const Value& container, const Value& value) {
  runtime.budget.step();
  if (!container.is_text()) runtime.budget.take_items(container.weight() / 2);
  switch (container.kind()) {
    case Kind::text:
      if (!value.is_text())
        fail("'in <string>' requires string as left operand, not " + named(value));
      return container.as_text().find(value.as_text()) != std::string::npos;
    case Kind::dict:
      if (!is_hashable(value)) fail("unhashable type: " + named(value));
      return container.as<Dict>().find(value) != nullptr;
    case Kind::undefined: return false;
    case Kind::none:
    case Kind::boolean:
    case Kind::integer:
    case Kind::real:
    case Kind::space:
    case Kind::loop:
    case Kind::callable: fail("argument of type '" + type_name(container) + "' is not iterable");
    default: {
      const Items items = iterate(runtime, container);
      return std::ranges::any_of(items, [&](const Value& one) { return equal(one, value); });
    }
  }
}

bool compare(Runtime& runtime, const std::string& op, const Value& a, const Value& b) {
  runtime.budget.step();
  if (op == "in") return contains(runtime, b, a);
  if (op == "not in") return !contains(runtime, b, a);
  runtime.budget.take_items(std::min(a.weight(), b.weight()) / 2);
  if (op == "==") return equal(a, b);
  if (op == "!=") return !equal(a, b);
  for (const Value* one : {&a, &b})
    if (one->is(Kind::undefined)) wrong_operands(op, a, b);
  if (op == "<") return less(a, b);
  if (op == ">") return less(b, a);
  if (op == "<=") return less(a, b) || equal(a, b);
  return less(b, a) || equal(a, b);
}

}  // namespace trainx::jinja
