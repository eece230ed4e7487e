#include "exported/scalars.hpp"
#include <c10/util/Exception.h>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>

namespace trainx::exported {
namespace {

const std::map<std::string, std::size_t>& functions() {
  static const std::map<std::string, std::size_t> all{
      {"add", 2}, {"sub", 2}, {"mul", 2}, {"floordiv", 2}, {"mod", 2},   {"truediv", 2}, {"pow", 2},
      {"min", 2}, {"max", 2}, {"neg", 1}, {"int", 1},      {"float", 1}, {"eq", 2},      {"ne", 2},
      {"lt", 2},  {"le", 2},  {"gt", 2},  {"ge", 2},       {"ceil", 1},  {"floor", 1}};
  return all;
}

double real(const c10::IValue& v) {
  if (v.isDouble()) return v.toDouble();
  if (v.isBool()) return v.toBool() ? 1 : 0;
  TORCH_CHECK(v.isInt(), "a number is made of something else");
  return static_cast<double>(v.toInt());
}

std::int64_t whole(double x) {
  TORCH_CHECK(std::abs(x) < 9e18, "a size becomes ", x);
  return static_cast<std::int64_t>(x);
}

template <class T>
std::optional<c10::IValue> compared(const std::string& name, T a, T b) {
  if (name == "eq") return a == b;
  if (name == "ne") return a != b;
  if (name == "lt") return a < b;
  if (name == "le") return a <= b;
  if (name == "gt") return a > b;
  if (name == "ge") return a >= b;
  if (name == "min") return std::min(a, b);
  if (name == "max") return std::max(a, b);
  return std::nullopt;
}

std::int64_t of_integers(const std::string& name, std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  const bool overflows = name == "add"   ? __builtin_add_overflow(a, b, &out)
                         : name == "sub" ? __builtin_sub_overflow(a, b, &out)
                         : name == "mul" ? __builtin_mul_overflow(a, b, &out)
                                         : false;
  TORCH_CHECK(!overflows, "a size overflows");
  if (name != "floordiv" && name != "mod") return out;
  TORCH_CHECK(b > 0, "a size is divided by ", b);
  const std::int64_t down = a / b - (a % b < 0 ? 1 : 0);
  return name == "mod" ? a - down * b : down;
}

double of_reals(const std::string& name, double a, double b) {
  if (name == "add") return a + b;
  if (name == "sub") return a - b;
  if (name == "mul") return a * b;
  if (name == "pow") return std::pow(a, b);
  TORCH_CHECK(b != 0, "a size is divided by 0");
  if (name == "truediv") return a / b;
  const double down = std::floor(a / b);
  return name == "mod" ? a - down * b : down;
}

}  // namespace

bool is_scalar_function(const std::string& name, std::size_t arguments) {
  const auto found = functions().find(name);
  return found != functions().end() && found->second == arguments;
}

c10::IValue scalar_function(const std::string& name, const std::vector<c10::IValue>& arguments) {
  const c10::IValue& x = arguments.at(0);
  if (name == "float") return real(x);
  if (name == "int") return whole(std::trunc(real(x)));
  if (name == "ceil") return whole(std::ceil(real(x)));
  if (name == "floor") return whole(std::floor(real(x)));
  if (name == "neg") return x.isInt() ? c10::IValue(of_integers("sub", 0, x.toInt())) : -real(x);
  const c10::IValue& y = arguments.at(1);
  const bool both = x.isInt() && y.isInt();
  if (const auto made = both ? compared(name, x.toInt(), y.toInt())
                             : compared(name, real(x), real(y)))
    return *made;
  if (both && name == "pow") return whole(std::pow(real(x), real(y)));
  if (both && name != "truediv") return of_integers(name, x.toInt(), y.toInt());
  return of_reals(name, real(x), real(y));
}

}  // namespace trainx::exported
