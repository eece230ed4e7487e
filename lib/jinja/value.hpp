// Values of templates, as Python has them.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace trainx::jinja {

enum class Kind : std::uint8_t {
  undefined,
  none,
  boolean,
  integer,
  real,
  text,
  list,
  tuple,
  range,
  view,  // of a dict's keys, values or items
  dict,
  iterator,  // what filters like map and select give: read once
  space,     // namespace()
  loop,      // the variable of a for loop
  callable,  // a macro, a method, a function
};

struct Object {
  virtual ~Object() = default;
  int depth = 1;           // levels of values inside one another
  std::size_t weight = 1;  // values in it, each as often as it is reached
};

class Value {
 public:
  Value() = default;
  Value(Kind kind, std::shared_ptr<Object> object) : kind_(kind), object_(std::move(object)) {}
  static Value none() { return Value(Kind::none, nullptr); }
  static Value boolean(bool value) {
    Value out(Kind::boolean, nullptr);
    out.integer_ = value;
    return out;
  }
  static Value integer(std::int64_t value) {
    Value out(Kind::integer, nullptr);
    out.integer_ = value;
    return out;
  }
  static Value real(double value) {
    Value out(Kind::real, nullptr);
    out.real_ = value;
    return out;
  }
  static Value text(std::string bytes);
  /// Text that a filter like `safe` or `escape` marked: adding to it escapes the other text.
  static Value safe_text(std::string bytes);
  static Value list(std::vector<Value> items);
  static Value tuple(std::vector<Value> items);
  static Value iterator(std::vector<Value> items);
  /// `why`: what a template is told that uses it.
  static Value undefined(std::string why);

  Kind kind() const { return kind_; }
  bool is(Kind kind) const { return kind_ == kind; }
  bool is_text() const { return kind_ == Kind::text; }
  bool is_number() const {
    return kind_ == Kind::boolean || kind_ == Kind::integer || kind_ == Kind::real;
  }
  /// Booleans are integers, as in Python.
  bool is_integer() const { return kind_ == Kind::boolean || kind_ == Kind::integer; }
  bool is_sequence() const {
    return kind_ == Kind::list || kind_ == Kind::tuple || kind_ == Kind::range ||
           kind_ == Kind::view;
  }
  std::int64_t as_integer() const { return integer_; }
  double as_real() const { return kind_ == Kind::real ? real_ : static_cast<double>(integer_); }
  const std::string& as_text() const;
  bool is_safe() const;
  const std::vector<Value>& items() const;  // of a sequence
  template <class T>
  T& as() const {
    return static_cast<T&>(*object_);
  }
  const Object* object() const { return object_.get(); }
  int depth() const { return object_ ? object_->depth : 0; }
  std::size_t weight() const { return object_ ? object_->weight : 1; }

  /// Where in the conversation a null stands. Empty: the template made it.
  const std::string& place() const;
  void set_place(std::string place);

 private:
  Kind kind_ = Kind::undefined;
  std::int64_t integer_ = 0;
  double real_ = 0;
  std::shared_ptr<Object> object_;
};

using Items = std::vector<Value>;
using Named = std::vector<std::pair<std::string, Value>>;

struct Arguments {
  Items positional;
  Named named;
};

struct Text final : Object {
  std::string bytes;
  bool safe = false;
};
/// A reason, or the place of a null.
struct Note final : Object {
  std::string text;
};
struct Sequence final : Object {
  Items items;
  std::string place;      // in the conversation
  std::string name;       // of a view, as dict_items
  bool is_group = false;  // a tuple of groupby, with names
  std::int64_t range[3] = {0, 0, 1};
};
struct Iterator final : Object {
  Items items;
  std::size_t at = 0;
};

/// Keys in order of their insertion.
class Dict final : public Object {
 public:
  using Entry = std::pair<Value, Value>;
  const std::vector<Entry>& entries() const { return entries_; }
  const Value* find(const Value& key) const;
  const Value* find(std::string_view key) const;
  void set(const Value& key, Value value);
  void set(const std::string& key, Value value) { set(Value::text(key), std::move(value)); }
  void clear();
  std::string place;  // in the conversation

 private:
  std::ptrdiff_t index_of(std::string_view key) const;
  std::vector<Entry> entries_;
  std::unordered_map<std::string, std::size_t> texts_;  // keys that are texts
};

struct Space final : Object {
  Dict values;
};

/// Counts a value into what holds it. Throws TemplateError for values that are nested too deep.
void hold(Object& holder, const Value& value);

Value make_dict(std::shared_ptr<Dict> dict);
Value make_view(std::string name, Items items);

/// As Python calls the type: str, NoneType, dict.
std::string type_name(const Value& value);
bool is_true(const Value& value);
/// Python's ==.
bool equal(const Value& a, const Value& b);
/// Can it be a key of a dict?
bool is_hashable(const Value& value);
/// Python's <; throws TemplateError for types that have no order.
bool less(const Value& a, const Value& b);

}  // namespace trainx::jinja
