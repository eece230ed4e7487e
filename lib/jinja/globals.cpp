// Functions that every chat template can call.
#include "jinja/bound.hpp"
#include "jinja/runtime.hpp"
#include <cstdio>
#include <ctime>
#include <map>

namespace trainx::jinja {
namespace {

Value range(Runtime& runtime, const Arguments& a) {
  constexpr std::int64_t longest = 100'000;  // of Jinja's sandbox
  if (a.positional.empty() || a.positional.size() > 3 || !a.named.empty())
    fail("range takes one to three numbers");
  std::int64_t begin = 0, step = 1;
  std::int64_t end = need_integer(a.positional[0], "range");
  if (a.positional.size() > 1) {
    begin = end;
    end = need_integer(a.positional[1], "range");
  }
  if (a.positional.size() > 2) step = need_integer(a.positional[2], "range");
  if (step == 0) fail("range() arg 3 must not be zero");
  for (const std::int64_t one : {begin, end, step})
    if (one > (std::int64_t{1} << 60) || one < -(std::int64_t{1} << 60))
      fail("range takes smaller numbers");
  const std::int64_t span = step > 0 ? end - begin : begin - end;
  const std::int64_t stride = step > 0 ? step : -step;
  const std::int64_t count = span <= 0 ? 0 : (span - 1) / stride + 1;
  if (count > longest) fail("Range too big. The sandbox blocks ranges larger than 100000.");
  runtime.budget.take_items(static_cast<std::size_t>(count));
  auto out = std::make_shared<Sequence>();
  for (std::int64_t i = 0; i < count; ++i) out->items.push_back(Value::integer(begin + i * step));
  out->range[0] = begin;
  out->range[1] = end;
  out->range[2] = step;
  return {Kind::range, std::move(out)};
}

/// Python's dict(pairs or a dict, **named).
void fill(Runtime& runtime, Dict& dict, const Arguments& a) {
  if (a.positional.size() > 1) fail("dict takes one value");
  if (!a.positional.empty()) {
    const Value& source = a.positional[0];
    if (source.is(Kind::dict)) {
      runtime.budget.take_items(source.as<Dict>().entries().size() * 2);
      for (const auto& [key, value] : source.as<Dict>().entries()) dict.set(key, value);
    } else {
      for (const Value& pair : iterate(runtime, source)) {
        const Items both = iterate(runtime, pair);
        if (both.size() != 2 || !is_hashable(both[0])) fail("dict takes pairs");
        dict.set(both[0], both[1]);
      }
    }
  }
  for (const auto& [name, value] : a.named) dict.set(name, value);
}

Value dict(Runtime& runtime, const Arguments& a) {
  auto out = std::make_shared<Dict>();
  fill(runtime, *out, a);
  return make_dict(std::move(out));
}

Value space(Runtime& runtime, const Arguments& a) {
  auto out = std::make_shared<Space>();
  fill(runtime, out->values, a);
  for (const auto& entry : out->values.entries())
    if (entry.first.is_text() && entry.first.as_text().starts_with('_'))
      fail("a namespace has no attribute that begins with an underscore");
  return runtime.make_space(std::move(out));
}

Value strftime_now(Runtime& runtime, const Arguments& a) {
  const Bound b("strftime_now", a, {"format"}, 1);
  const std::time_t now = runtime.now();
  std::tm local{};
  localtime_r(&now, &local);
  std::string pattern;
  const std::string given = b.text(0);
  for (std::size_t i = 0; i < given.size(); ++i) {
    const char next = i + 1 < given.size() ? given[i + 1] : 0;
    if (given[i] != '%' || (next != 'f' && next != 'z' && next != 'Z')) {
      pattern.push_back(given[i]);
      if (given[i] == '%' && next) pattern.push_back(given[++i]);
      continue;
    }
    // Python's time of no zone has no name; the clock is read in seconds.
    if (next == 'f') pattern += "000000";
    ++i;
  }
  if (pattern.empty()) return Value::text("");
  runtime.budget.take(pattern.size() * 64);
  std::string out(pattern.size() * 64 + 64, '\0');
  out.resize(std::strftime(out.data(), out.size(), pattern.c_str(), &local));
  return Value::text(std::move(out));
}

Value raise_exception(Runtime& runtime, const Arguments& a) {
  const Bound b("raise_exception", a, {"message"}, 1);
  throw TemplateError(Problem::refused, to_text(runtime, b[0]));
}

using Function = Value (*)(Runtime&, const Arguments&);

}  // namespace

std::optional<Value> global(const std::string& name) {
  static const std::map<std::string, Function> functions{{"range", range},
                                                         {"dict", dict},
                                                         {"namespace", space},
                                                         {"strftime_now", strftime_now},
                                                         {"raise_exception", raise_exception}};
  const auto found = functions.find(name);
  if (found != functions.end()) return make_callable(found->second);
  for (const char* known : {"lipsum", "cycler", "joiner"})
    if (name == known)
      return make_callable(
          [name](Runtime&, const Arguments&) -> Value { unsupported("the function " + name); });
  return std::nullopt;
}

}  // namespace trainx::jinja
