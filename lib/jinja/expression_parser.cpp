#include "jinja/expression_parser.hpp"
#include "jinja/error.hpp"
#include <algorithm>
#include <array>

namespace trainx::jinja {
namespace {

// Deeper ones are refused: rendering goes down a tree one call a level.
constexpr int deepest_expression = 300;

std::string describe(const Token& token) {
  switch (token.kind) {
    case TokenKind::data: return "text";
    case TokenKind::variable_begin: return "'{{'";
    case TokenKind::variable_end: return "'}}'";
    case TokenKind::block_begin: return "'{%'";
    case TokenKind::block_end: return "'%}'";
    case TokenKind::end: return "the end of the template";
    default: return "'" + token.text + "'";
  }
}

}  // namespace

class ExpressionParser::Nesting {
 public:
  explicit Nesting(ExpressionParser& parser) : parser_(parser) {
    if (++parser_.nesting_ > deepest_expression)
      throw TemplateError(Problem::limit, "expressions are nested deeper than 300 levels");
  }
  ~Nesting() { --parser_.nesting_; }
  Nesting(const Nesting&) = delete;
  Nesting& operator=(const Nesting&) = delete;

 private:
  ExpressionParser& parser_;
};

Token ExpressionParser::take() {
  Token token = tokens_[at_];
  if (at_ + 1 < tokens_.size()) ++at_;
  return token;
}

bool ExpressionParser::skip_op(const char* op) {
  if (!now().is_op(op)) return false;
  take();
  return true;
}

bool ExpressionParser::skip_name(const char* name) {
  if (!now().is_name(name)) return false;
  take();
  return true;
}

void ExpressionParser::expect_op(const char* op) {
  if (!skip_op(op)) wrong(std::string("expected '") + op + "', not " + describe(now()));
}

std::string ExpressionParser::expect_name() {
  if (now().kind != TokenKind::name) wrong("expected a name, not " + describe(now()));
  return take().text;
}

void ExpressionParser::expect(TokenKind kind, const char* what) {
  if (now().kind != kind) wrong(std::string("expected ") + what + ", not " + describe(now()));
  take();
}

void ExpressionParser::wrong(const std::string& what) const {
  throw TemplateError(Problem::syntax, "line " + std::to_string(now().line) + ": " + what);
}

ExpressionPtr ExpressionParser::make(ExpressionKind kind, std::string name) {
  auto node = std::make_unique<Expression>();
  node->kind = kind;
  node->line = now().line;
  node->name = std::move(name);
  return node;
}

void ExpressionParser::add(Expression& parent, ExpressionPtr child) const {
  if (child) parent.depth = std::max(parent.depth, child->depth + 1);
  if (parent.depth > deepest_expression)
    throw TemplateError(Problem::limit, "line " + std::to_string(parent.line) +
                                            ": an expression is nested deeper than 300 levels");
  parent.children.push_back(std::move(child));
}

ExpressionPtr ExpressionParser::binary(std::string op, ExpressionPtr left, ExpressionPtr right) {
  auto node = make(ExpressionKind::binary, std::move(op));
  node->line = left->line;
  add(*node, std::move(left));
  add(*node, std::move(right));
  return node;
}

ExpressionPtr ExpressionParser::tuple(bool simple, bool with_condition, const char* end,
                                      bool parentheses, bool with_namespace) {
  auto node = make(ExpressionKind::tuple);
  const auto ends = [&] {
    return now().kind == TokenKind::variable_end || now().kind == TokenKind::block_end ||
           now().is_op(")") || (end && now().is_name(end));
  };
  bool is_tuple = false;
  while (!ends()) {
    add(*node, simple ? primary(with_namespace) : with_condition ? conditional() : either());
    if (!now().is_op(",")) break;
    is_tuple = true;
    take();
  }
  if (is_tuple) return node;
  if (!node->children.empty()) return std::move(node->children[0]);
  if (!parentheses) wrong("expected an expression, not " + describe(now()));
  return node;
}

void ExpressionParser::check_target(const Expression& node) const {
  if (node.kind == ExpressionKind::name) return;
  if (node.kind == ExpressionKind::attribute && node.children[0]->kind == ExpressionKind::name)
    return;
  if (node.kind != ExpressionKind::tuple) wrong("only names and attributes can be assigned to");
  for (const auto& child : node.children) check_target(*child);
}

ExpressionPtr ExpressionParser::target(const char* end, bool with_namespace) {
  auto node = tuple(true, true, end, false, with_namespace);
  check_target(*node);
  return node;
}

ExpressionPtr ExpressionParser::conditional() {
  const Nesting level(*this);
  auto first = either();
  while (skip_name("if")) {
    auto node = make(ExpressionKind::conditional);
    add(*node, std::move(first));
    add(*node, either());
    add(*node, skip_name("else") ? conditional() : nullptr);
    first = std::move(node);
  }
  return first;
}

ExpressionPtr ExpressionParser::either() {
  auto left = both();
  while (skip_name("or")) left = binary("or", std::move(left), both());
  return left;
}

ExpressionPtr ExpressionParser::both() {
  auto left = negation();
  while (skip_name("and")) left = binary("and", std::move(left), negation());
  return left;
}

ExpressionPtr ExpressionParser::negation() {
  if (!now().is_name("not")) return comparison();
  const Nesting level(*this);
  auto node = make(ExpressionKind::unary, "not");
  take();
  add(*node, negation());
  return node;
}

ExpressionPtr ExpressionParser::comparison() {
  static constexpr std::array operators{"==", "!=", "<", "<=", ">", ">="};
  auto first = sum();
  auto node = make(ExpressionKind::compare);
  while (true) {
    const bool symbol =
        std::ranges::any_of(operators, [&](const char* op) { return now().is_op(op); });
    if (symbol || now().is_name("in")) {
      node->names.push_back(take().text);
    } else if (now().is_name("not") && behind().is_name("in")) {
      take();
      take();
      node->names.emplace_back("not in");
    } else {
      break;
    }
    if (first) add(*node, std::move(first));
    add(*node, sum());
  }
  return first ? std::move(first) : std::move(node);
}

ExpressionPtr ExpressionParser::sum() {
  auto left = concat();
  while (now().is_op("+") || now().is_op("-")) {
    std::string op = take().text;
    left = binary(std::move(op), std::move(left), concat());
  }
  return left;
}

ExpressionPtr ExpressionParser::concat() {
  auto first = product();
  if (!now().is_op("~")) return first;
  auto node = make(ExpressionKind::concat);
  add(*node, std::move(first));
  while (skip_op("~")) add(*node, product());
  return node;
}

ExpressionPtr ExpressionParser::product() {
  auto left = power();
  while (now().is_op("*") || now().is_op("/") || now().is_op("//") || now().is_op("%")) {
    std::string op = take().text;
    left = binary(std::move(op), std::move(left), power());
  }
  return left;
}

ExpressionPtr ExpressionParser::power() {
  auto left = unary();
  while (skip_op("**")) left = binary("**", std::move(left), unary());
  return left;
}

ExpressionPtr ExpressionParser::unary(bool with_filters) {
  const Nesting level(*this);
  ExpressionPtr node;
  if (now().is_op("-") || now().is_op("+")) {
    node = make(ExpressionKind::unary, take().text);
    add(*node, unary(false));
  } else {
    node = primary();
  }
  node = postfix(std::move(node));
  return with_filters ? filters_and_tests(std::move(node)) : std::move(node);
}

ExpressionPtr ExpressionParser::primary(bool with_namespace) {
  auto node = make(ExpressionKind::constant);
  if (now().kind == TokenKind::name) {
    const std::string name = take().text;
    if (name == "true" || name == "True" || name == "false" || name == "False") {
      node->constant = Value::boolean(name == "true" || name == "True");
    } else if (name == "none" || name == "None") {
      node->constant = Value::none();
    } else {
      node->kind = ExpressionKind::name;
      node->name = name;
      if (with_namespace && skip_op(".")) {
        auto attribute = make(ExpressionKind::attribute, expect_name());
        add(*attribute, std::move(node));
        return attribute;
      }
    }
    return node;
  }
  if (now().kind == TokenKind::text) {
    std::string text;
    while (now().kind == TokenKind::text) text += take().text;
    node->constant = Value::text(std::move(text));
    return node;
  }
  if (now().kind == TokenKind::integer || now().kind == TokenKind::real) {
    node->constant = take().number;
    return node;
  }
  if (skip_op("(")) {
    const Nesting level(*this);
    node = tuple(false, true, nullptr, true);
    expect_op(")");
    return node;
  }
  if (now().is_op("[")) return list();
  if (now().is_op("{")) return dict();
  wrong("unexpected " + describe(now()));
}

ExpressionPtr ExpressionParser::list() {
  const Nesting level(*this);
  auto node = make(ExpressionKind::list);
  take();
  while (!now().is_op("]")) {
    if (!node->children.empty()) expect_op(",");
    if (now().is_op("]")) break;
    add(*node, expression());
  }
  expect_op("]");
  return node;
}

ExpressionPtr ExpressionParser::dict() {
  const Nesting level(*this);
  auto node = make(ExpressionKind::dict);
  take();
  while (!now().is_op("}")) {
    if (!node->children.empty()) expect_op(",");
    if (now().is_op("}")) break;
    add(*node, expression());
    expect_op(":");
    add(*node, expression());
  }
  expect_op("}");
  return node;
}

ExpressionPtr ExpressionParser::postfix(ExpressionPtr node) {
  while (true) {
    if (now().is_op(".") || now().is_op("[")) {
      node = subscript(std::move(node));
    } else if (now().is_op("(")) {
      auto call = make(ExpressionKind::call);
      add(*call, std::move(node));
      arguments(*call);
      node = std::move(call);
    } else {
      return node;
    }
  }
}

ExpressionPtr ExpressionParser::filters_and_tests(ExpressionPtr node) {
  while (true) {
    if (now().is_op("|")) {
      node = filters(std::move(node));
    } else if (now().is_name("is")) {
      node = test(std::move(node));
    } else if (now().is_op("(")) {
      auto call = make(ExpressionKind::call);
      add(*call, std::move(node));
      arguments(*call);
      node = std::move(call);
    } else {
      return node;
    }
  }
}

ExpressionPtr ExpressionParser::subscript(ExpressionPtr node) {
  auto item = make(ExpressionKind::item);
  if (skip_op(".")) {
    const Token token = take();
    if (token.kind == TokenKind::name) {
      item->kind = ExpressionKind::attribute;
      item->name = token.text;
      add(*item, std::move(node));
      return item;
    }
    if (token.kind != TokenKind::integer) wrong("expected a name or a number behind '.'");
    auto index = make(ExpressionKind::constant);
    index->constant = token.number;
    add(*item, std::move(node));
    add(*item, std::move(index));
    return item;
  }
  take();
  auto index = make(ExpressionKind::tuple);
  while (!now().is_op("]")) {
    if (!index->children.empty()) expect_op(",");
    add(*index, subscribed());
  }
  expect_op("]");
  if (index->children.size() == 1) index = std::move(index->children[0]);
  add(*item, std::move(node));
  add(*item, std::move(index));
  return item;
}

ExpressionPtr ExpressionParser::subscribed() {
  auto node = make(ExpressionKind::slice);
  ExpressionPtr first;
  if (!now().is_op(":")) {
    first = expression();
    if (!now().is_op(":")) return first;
  }
  take();
  add(*node, std::move(first));
  const auto ends = [&] { return now().is_op("]") || now().is_op(","); };
  add(*node, now().is_op(":") || ends() ? nullptr : expression());
  add(*node, skip_op(":") && !ends() ? expression() : nullptr);
  return node;
}

void ExpressionParser::arguments(Expression& call) {
  const Nesting level(*this);
  expect_op("(");
  bool first = true;
  while (!now().is_op(")")) {
    if (!first) {
      expect_op(",");
      if (now().is_op(")")) break;
    }
    first = false;
    if (skip_op("*")) {
      if (call.positional || call.keywords) wrong("a call has two lists of arguments");
      call.positional = expression();
    } else if (skip_op("**")) {
      if (call.keywords) wrong("a call has two dicts of arguments");
      call.keywords = expression();
    } else if (now().kind == TokenKind::name && behind().is_op("=")) {
      if (call.keywords) wrong("an argument stands behind **");
      call.names.push_back(take().text);
      take();
      add(call, expression());
    } else {
      if (call.positional || call.keywords || !call.names.empty())
        wrong("an argument without a name stands behind one with a name");
      add(call, expression());
    }
  }
  expect_op(")");
}

ExpressionPtr ExpressionParser::filters(ExpressionPtr node, bool inside) {
  while (inside || now().is_op("|")) {
    if (!inside) take();
    inside = false;
    auto filter = make(ExpressionKind::filter, expect_name());
    add(*filter, std::move(node));
    if (now().is_op(".")) wrong("there is no filter " + filter->name + ".");
    if (now().is_op("(")) arguments(*filter);
    node = std::move(filter);
  }
  return node;
}

ExpressionPtr ExpressionParser::test(ExpressionPtr node) {
  take();
  const bool negated = skip_name("not");
  auto check = make(ExpressionKind::test, expect_name());
  add(*check, std::move(node));
  const auto kind = now().kind;
  const bool value = kind == TokenKind::name || kind == TokenKind::text ||
                     kind == TokenKind::integer || kind == TokenKind::real || now().is_op("[") ||
                     now().is_op("{");
  const bool ends = now().is_name("else") || now().is_name("or") || now().is_name("and");
  if (now().is_op("(")) {
    arguments(*check);
  } else if (value && !ends) {
    if (now().is_name("is")) wrong("tests cannot follow one another");
    add(*check, postfix(primary()));
  }
  if (!negated) return check;
  auto out = make(ExpressionKind::unary, "not");
  add(*out, std::move(check));
  return out;
}

}  // namespace trainx::jinja
