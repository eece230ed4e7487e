#include "jinja/value.hpp"
#include "jinja/error.hpp"
#include <algorithm>

namespace trainx::jinja {
namespace {

Value of_items(Kind kind, Items items) {
  auto sequence = std::make_shared<Sequence>();
  for (const Value& item : items) hold(*sequence, item);
  sequence->items = std::move(items);
  return {kind, std::move(sequence)};
}

Value of_text(std::string bytes, bool safe) {
  auto text = std::make_shared<Text>();
  text->bytes = std::move(bytes);
  text->safe = safe;
  return {Kind::text, std::move(text)};
}

/// -1, 0 or 1, exact for integers; 2: not comparable (nan).
int compare_numbers(const Value& a, const Value& b) {
  if (a.is_integer() && b.is_integer())
    return a.as_integer() < b.as_integer() ? -1 : a.as_integer() > b.as_integer();
  const double x = a.as_real(), y = b.as_real();
  return x < y ? -1 : x > y ? 1 : x == y ? 0 : 2;
}

bool equal_items(const Items& a, const Items& b) {
  return std::ranges::equal(a, b, [](const Value& x, const Value& y) { return equal(x, y); });
}

bool equal_dicts(const Dict& a, const Dict& b) {
  if (a.entries().size() != b.entries().size()) return false;
  return std::ranges::all_of(a.entries(), [&](const Dict::Entry& entry) {
    const Value* other = b.find(entry.first);
    return other && equal(entry.second, *other);
  });
}

}  // namespace

Value Value::text(std::string bytes) { return of_text(std::move(bytes), false); }
Value Value::safe_text(std::string bytes) { return of_text(std::move(bytes), true); }
Value Value::list(Items items) { return of_items(Kind::list, std::move(items)); }
Value Value::tuple(Items items) { return of_items(Kind::tuple, std::move(items)); }
Value Value::iterator(Items items) {
  auto object = std::make_shared<Iterator>();
  for (const Value& item : items) hold(*object, item);
  object->items = std::move(items);
  return {Kind::iterator, std::move(object)};
}
Value Value::undefined(std::string why) {
  auto note = std::make_shared<Note>();
  note->text = std::move(why);
  return {Kind::undefined, std::move(note)};
}

const std::string& Value::as_text() const { return as<Text>().bytes; }
bool Value::is_safe() const { return is_text() && as<Text>().safe; }
const Items& Value::items() const { return as<Sequence>().items; }

const std::string& Value::place() const {
  static const std::string nowhere;
  if (!object_) return nowhere;
  switch (kind_) {
    case Kind::none: return as<Note>().text;
    case Kind::dict: return as<Dict>().place;
    case Kind::list: return as<Sequence>().place;
    default: return nowhere;
  }
}

void Value::set_place(std::string place) {
  if (is(Kind::none)) {
    auto note = std::make_shared<Note>();
    note->text = std::move(place);
    object_ = std::move(note);
  } else if (is(Kind::list)) {
    as<Sequence>().place = std::move(place);
  } else if (is(Kind::dict)) {
    as<Dict>().place = std::move(place);
  }
}

std::ptrdiff_t Dict::index_of(std::string_view key) const {
  constexpr std::size_t few = 8;
  if (entries_.size() > few) {
    const auto found = texts_.find(std::string(key));
    return found == texts_.end() ? -1 : static_cast<std::ptrdiff_t>(found->second);
  }
  for (std::size_t i = 0; i < entries_.size(); ++i)
    if (entries_[i].first.is_text() && entries_[i].first.as_text() == key)
      return static_cast<std::ptrdiff_t>(i);
  return -1;
}

const Value* Dict::find(std::string_view key) const {
  const std::ptrdiff_t at = index_of(key);
  return at < 0 ? nullptr : &entries_[static_cast<std::size_t>(at)].second;
}

const Value* Dict::find(const Value& key) const {
  if (key.is_text()) return find(std::string_view(key.as_text()));
  for (const Entry& entry : entries_)
    if (!entry.first.is_text() && equal(entry.first, key)) return &entry.second;
  return nullptr;
}

void hold(Object& holder, const Value& value) {
  constexpr int deepest = 250;
  constexpr std::size_t heaviest = std::size_t{1} << 48;
  // Namespaces are held by the rendering, and are compared as they are.
  if (value.is(Kind::space)) return;
  holder.depth = std::max(holder.depth, value.depth() + 1);
  holder.weight = std::min(holder.weight + value.weight(), heaviest);
  if (holder.depth > deepest)
    throw TemplateError(Problem::limit, "values are nested deeper than 250 levels");
}

void Dict::set(const Value& key, Value value) {
  hold(*this, key);
  hold(*this, value);
  if (const Value* there = find(key)) {
    *const_cast<Value*>(there) = std::move(value);
    return;
  }
  if (key.is_text()) texts_.emplace(key.as_text(), entries_.size());
  entries_.emplace_back(key, std::move(value));
}

void Dict::clear() {
  entries_.clear();
  texts_.clear();
}

Value make_dict(std::shared_ptr<Dict> dict) { return {Kind::dict, std::move(dict)}; }

Value make_view(std::string name, Items items) {
  Value out = of_items(Kind::view, std::move(items));
  out.as<Sequence>().name = std::move(name);
  return out;
}

std::string type_name(const Value& value) {
  switch (value.kind()) {
    case Kind::undefined: return "Undefined";
    case Kind::none: return "NoneType";
    case Kind::boolean: return "bool";
    case Kind::integer: return "int";
    case Kind::real: return "float";
    case Kind::text: return value.is_safe() ? "Markup" : "str";
    case Kind::list: return "list";
    case Kind::tuple: return "tuple";
    case Kind::range: return "range";
    case Kind::view: return value.as<Sequence>().name;
    case Kind::dict: return "dict";
    case Kind::iterator: return "generator";
    case Kind::space: return "Namespace";
    case Kind::loop: return "LoopContext";
    case Kind::callable: return "function";
  }
  return "object";
}

bool is_true(const Value& value) {
  switch (value.kind()) {
    case Kind::undefined:
    case Kind::none: return false;
    case Kind::boolean:
    case Kind::integer: return value.as_integer() != 0;
    case Kind::real: return value.as_real() != 0;
    case Kind::text: return !value.as_text().empty();
    case Kind::list:
    case Kind::tuple:
    case Kind::range:
    case Kind::view: return !value.items().empty();
    case Kind::dict: return !value.as<Dict>().entries().empty();
    default: return true;
  }
}

bool equal(const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) return compare_numbers(a, b) == 0;
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case Kind::undefined:
    case Kind::none: return true;
    case Kind::text: return a.as_text() == b.as_text();
    case Kind::list:
    case Kind::tuple:
    case Kind::range: return equal_items(a.items(), b.items());
    case Kind::dict: return equal_dicts(a.as<Dict>(), b.as<Dict>());
    default: return a.object() == b.object();
  }
}

bool is_hashable(const Value& value) {
  if (value.is(Kind::tuple)) return std::ranges::all_of(value.items(), is_hashable);
  return !value.is(Kind::list) && !value.is(Kind::dict) && !value.is(Kind::view);
}

bool less(const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) return compare_numbers(a, b) == -1;
  if (a.is_text() && b.is_text()) return a.as_text() < b.as_text();
  if (a.kind() == b.kind() && (a.is(Kind::list) || a.is(Kind::tuple))) {
    const Items &x = a.items(), &y = b.items();
    for (std::size_t i = 0; i < std::min(x.size(), y.size()); ++i)
      if (!equal(x[i], y[i])) return less(x[i], y[i]);
    return x.size() < y.size();
  }
  fail("'<' not supported between " + type_name(a) + " and " + type_name(b));
}

}  // namespace trainx::jinja
