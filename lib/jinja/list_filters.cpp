#include "jinja/bound.hpp"
#include "jinja/filters.hpp"
#include "jinja/text_parts.hpp"
#include "jinja/unicode.hpp"
#include <algorithm>
#include <utility>

namespace trainx::jinja {
namespace {

Value list(Runtime& runtime, const Value& value, const Arguments& a) {
  const Bound none("list", a, {});
  return Value::list(iterate(runtime, value));
}

Value first(Runtime& runtime, const Value& value, const Arguments& a) {
  const Bound none("first", a, {});
  if (value.is(Kind::iterator)) {
    auto& source = value.as<Iterator>();
    if (source.at < source.items.size()) return source.items[source.at++];
    return Value::undefined("No first item, sequence was empty.");
  }
  const Items items = iterate(runtime, value);
  return items.empty() ? Value::undefined("No first item, sequence was empty.") : items.front();
}

Value last(Runtime& runtime, const Value& value, const Arguments& a) {
  const Bound none("last", a, {});
  if (value.is(Kind::iterator)) fail("'generator' object is not reversible");
  const Items items = iterate(runtime, value);
  return items.empty() ? Value::undefined("No last item, sequence was empty.") : items.back();
}

Value reversed(Runtime& runtime, const Value& value, const Arguments& a) {
  const Bound none("reverse", a, {});
  Items items = iterate(runtime, value);
  std::ranges::reverse(items);
  if (!value.is_text()) return Value::iterator(std::move(items));
  std::string out;
  for (const Value& one : items) out += one.as_text();
  return made_text(runtime, std::move(out));
}

Value items_of(Runtime& runtime, const Value& value, const Arguments& a) {
  const Bound none("items", a, {});
  if (value.is(Kind::undefined)) return Value::iterator({});
  if (!value.is(Kind::dict)) fail("Can only get item pairs from a mapping.");
  Items out;
  runtime.budget.take_items(value.as<Dict>().entries().size() * 3);
  for (const auto& [key, item] : value.as<Dict>().entries())
    out.push_back(Value::tuple({key, item}));
  return Value::iterator(std::move(out));
}

/// Sorts by keys that stand beside the values; the same order as Python's sorted().
Items sorted(Runtime& runtime, std::vector<std::pair<Value, Value>> keyed, bool reverse) {
  std::size_t weight = 0;
  for (const auto& one : keyed) weight += one.first.weight();
  runtime.budget.take_items(weight * 8);
  if (reverse) std::ranges::reverse(keyed);
  std::ranges::stable_sort(keyed,
                           [](const auto& a, const auto& b) { return less(a.first, b.first); });
  if (reverse) std::ranges::reverse(keyed);
  Items out;
  for (auto& one : keyed) out.push_back(std::move(one.second));
  return out;
}

Value sort(Runtime& runtime, const Value& value, const Arguments& a) {
  const Bound b("sort", a, {"reverse", "case_sensitive", "attribute"});
  std::vector<AttributePath> paths;
  if (b.given(2) && b[2].is_text()) {
    const std::string comma = ",";
    for (const std::string& part : split(b.text(2), &comma, -1, false))
      paths.emplace_back(Value::text(part));
  } else {
    paths.push_back(b.given(2) ? AttributePath(b[2]) : AttributePath());
  }
  std::vector<std::pair<Value, Value>> keyed;
  for (const Value& one : iterate(runtime, value)) {
    Items key;
    for (const AttributePath& path : paths) {
      const Value part = path.of(runtime, one);
      key.push_back(b.truth(1) ? part : without_case(part));
    }
    keyed.emplace_back(Value::list(std::move(key)), one);
  }
  return Value::list(sorted(runtime, std::move(keyed), b.truth(0)));
}

Value dictsort(Runtime& runtime, const Value& value, const Arguments& a) {
  const Bound b("dictsort", a, {"case_sensitive", "by", "reverse"});
  if (!value.is(Kind::dict)) fail("dictsort takes a dict, not " + type_name(value));
  const std::string by = b.text(1, "key");
  if (by != "key" && by != "value") fail("You can only sort by either \"key\" or \"value\"");
  std::vector<std::pair<Value, Value>> keyed;
  for (const auto& [key, item] : value.as<Dict>().entries()) {
    const Value& part = by == "key" ? key : item;
    keyed.emplace_back(b.truth(0) ? part : without_case(part), Value::tuple({key, item}));
  }
  return Value::list(sorted(runtime, std::move(keyed), b.truth(2)));
}

Value unique(Runtime& runtime, const Value& value, const Arguments& a) {
  const Bound b("unique", a, {"case_sensitive", "attribute"});
  const AttributePath path = b.given(1) ? AttributePath(b[1]) : AttributePath();
  Dict seen;
  Items out;
  for (const Value& one : iterate(runtime, value)) {
    const Value part = path.of(runtime, one);
    const Value key = b.truth(0) ? part : without_case(part);
    if (!is_hashable(key)) fail("unhashable type: '" + type_name(key) + "'");
    if (!key.is_text()) runtime.budget.take_items(seen.entries().size() / 8 + key.weight());
    if (seen.find(key)) continue;
    seen.set(key, Value::none());
    out.push_back(one);
  }
  return Value::iterator(std::move(out));
}

Value extreme(Runtime& runtime, const Value& value, const Arguments& a, bool smallest) {
  const Bound b(smallest ? "min" : "max", a, {"case_sensitive", "attribute"});
  const AttributePath path = b.given(1) ? AttributePath(b[1]) : AttributePath();
  std::optional<Value> best, best_key;
  for (const Value& one : iterate(runtime, value)) {
    const Value part = path.of(runtime, one);
    const Value key = b.truth(0) ? part : without_case(part);
    if (best_key) runtime.budget.take_items(key.weight() / 8);
    if (best_key && !(smallest ? less(key, *best_key) : less(*best_key, key))) continue;
    best = one;
    best_key = key;
  }
  return best ? *best : Value::undefined("No aggregated item, sequence was empty.");
}

Value batch(Runtime& runtime, const Value& value, const Arguments& a) {
  const Bound b("batch", a, {"linecount", "fill_with"}, 1);
  const std::int64_t size = b.integer(0);
  Items out, row;
  for (const Value& one : iterate(runtime, value)) {
    if (static_cast<std::int64_t>(row.size()) == size)
      out.push_back(made_list(runtime, std::exchange(row, {})));
    row.push_back(one);
  }
  if (!row.empty()) {
    while (b.given(1) && static_cast<std::int64_t>(row.size()) < size) {
      runtime.budget.take_items(1);
      row.push_back(b[1]);
    }
    out.push_back(made_list(runtime, std::move(row)));
  }
  return Value::iterator(std::move(out));
}

Value slice(Runtime& runtime, const Value& value, const Arguments& a) {
  const Bound b("slice", a, {"slices", "fill_with"}, 1);
  const Items items = iterate(runtime, value);
  const std::int64_t slices = b.integer(0), length = static_cast<std::int64_t>(items.size());
  if (slices == 0) fail("integer division or modulo by zero");
  runtime.budget.take_items(static_cast<std::size_t>(std::max<std::int64_t>(slices, 0)));
  Items out;
  std::int64_t at = 0;
  for (std::int64_t i = 0; i < slices; ++i) {
    const std::int64_t size = length / slices + (i < length % slices);
    Items row(items.begin() + at, items.begin() + at + size);
    at += size;
    if (b.given(1) && i >= length % slices) row.push_back(b[1]);
    out.push_back(made_list(runtime, std::move(row)));
  }
  return Value::iterator(std::move(out));
}

Value groupby(Runtime& runtime, const Value& value, const Arguments& a) {
  const Bound b("groupby", a, {"attribute", "default", "case_sensitive"}, 1);
  const AttributePath path(b[0]);
  const std::optional<Value> otherwise = b.has(1) ? std::optional(b[1]) : std::nullopt;
  const auto key_of = [&](const Value& one) {
    const Value part = path.of(runtime, one, otherwise);
    return b.truth(2) ? part : without_case(part);
  };
  std::vector<std::pair<Value, Value>> keyed;
  for (const Value& one : iterate(runtime, value)) keyed.emplace_back(key_of(one), one);
  Items out;
  const Items all = sorted(runtime, std::move(keyed), false);
  for (std::size_t at = 0; at < all.size();) {
    const Value key = key_of(all[at]);
    Items group;
    for (; at < all.size() && equal(key_of(all[at]), key); ++at) group.push_back(all[at]);
    const Value shown = b.truth(2) ? key : path.of(runtime, group[0], otherwise);
    Value pair = Value::tuple({shown, made_list(runtime, std::move(group))});
    pair.as<Sequence>().is_group = true;
    out.push_back(std::move(pair));
  }
  return made_list(runtime, std::move(out));
}

}  // namespace

void add_list_filters(Filters& filters) {
  filters["list"] = list;
  filters["first"] = first;
  filters["last"] = last;
  filters["reverse"] = reversed;
  filters["items"] = items_of;
  filters["sort"] = sort;
  filters["dictsort"] = dictsort;
  filters["unique"] = unique;
  filters["min"] = [](Runtime& r, const Value& v, const Arguments& a) {
    return extreme(r, v, a, true);
  };
  filters["max"] = [](Runtime& r, const Value& v, const Arguments& a) {
    return extreme(r, v, a, false);
  };
  filters["batch"] = batch;
  filters["slice"] = slice;
  filters["groupby"] = groupby;
}

}  // namespace trainx::jinja
