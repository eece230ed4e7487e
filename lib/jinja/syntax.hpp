// A template as a tree.
#pragma once
#include "jinja/value.hpp"
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace trainx::jinja {

struct Expression;
using ExpressionPtr = std::unique_ptr<Expression>;

/// A variable: `hops` scopes outwards, its slot there. hops < 0: not resolved.
struct Place {
  int hops = -1;
  std::size_t slot = 0;
};

enum class ExpressionKind {
  constant,
  name,
  tuple,
  list,
  dict,  // children: key, value, key, value, ...
  unary,
  binary,   // arithmetic, and, or
  compare,  // children: the first operand and one for each of `names`
  concat,
  conditional,  // children: then, condition, else (may be null)
  attribute,
  item,
  slice,  // children: begin, end, step (may be null)
  call,
  filter,  // the first child is what is filtered: null in a filter block
  test,
};

struct Expression {
  ExpressionKind kind = ExpressionKind::constant;
  std::size_t line = 1;
  int depth = 1;
  std::string name;  // of a variable, attribute, operator, filter, test
  Value constant;
  Place place;  // of a variable
  std::vector<ExpressionPtr> children;
  std::vector<std::string> names;      // operators of a comparison; keywords of the last children
  ExpressionPtr positional, keywords;  // *args, **kwargs of a call
};

enum class LoadKind { parameter, resolve, alias, missing };

/// How a variable gets its value when its scope is entered.
struct Load {
  std::string name;
  LoadKind kind = LoadKind::missing;
  Place from;  // of an alias, seen from the scope itself
};
using Loads = std::vector<Load>;

struct Statement;
using StatementPtr = std::unique_ptr<Statement>;
using Body = std::vector<StatementPtr>;

enum class StatementKind {
  data,
  output,     // expressions[0]
  if_,        // expressions[0], body, other
  for_,       // expressions: target, iterable, test (may be null); body, other
  set,        // expressions: target, value
  set_block,  // expressions: target, filter (may be null); body
  macro,      // name, parameters, expressions: their defaults, of the last ones; body
  call,       // as a macro without a name; `call` is what gets it
  filter,     // expressions[0], body
  with,       // names are `targets`, expressions are values; body
  generation,
  break_,
  continue_,
};

struct Statement {
  StatementKind kind = StatementKind::data;
  std::size_t line = 1;
  std::string text;  // of data; the name of a macro
  std::vector<ExpressionPtr> expressions;
  std::vector<ExpressionPtr> targets;  // of a with block; of a loop: its target, for the test
  ExpressionPtr call;
  std::vector<std::string> parameters;
  Body body, other;
  bool recursive = false;                                               // of a loop
  bool uses_caller = false, uses_kwargs = false, uses_varargs = false;  // of a macro
  Place place;                                                          // of a macro's name
  std::vector<std::size_t> slots;  // of a macro's parameters in its scope
  std::size_t caller = 0, kwargs = 0, varargs = 0, loop = 0;  // slots of special variables
  Loads loads, test_loads, other_loads;  // of the scopes of body, test and other
};

/// A namespace's attribute as a target is an `attribute` of a name.
struct Tree {
  Body body;
  Loads loads;
};

}  // namespace trainx::jinja
