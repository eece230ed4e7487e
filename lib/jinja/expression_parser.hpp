#pragma once
#include "jinja/syntax.hpp"
#include "jinja/token.hpp"
#include <algorithm>
#include <string>
#include <vector>

namespace trainx::jinja {

/// Reads tokens one after another, and the expressions of a template.
class ExpressionParser {
 public:
  explicit ExpressionParser(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

 protected:
  const Token& now() const { return tokens_[at_]; }
  const Token& behind() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }
  Token take();
  bool skip_op(const char* op);
  bool skip_name(const char* name);
  void expect_op(const char* op);
  std::string expect_name();
  void expect(TokenKind kind, const char* what);
  [[noreturn]] void wrong(const std::string& what) const;

  ExpressionPtr expression() { return conditional(); }
  /// One expression, or several with commas. `simple`: targets of an assignment. `end`: a name
  /// that ends it.
  ExpressionPtr tuple(bool simple, bool with_condition, const char* end, bool parentheses,
                      bool with_namespace = false);
  ExpressionPtr target(const char* end = nullptr, bool with_namespace = false);
  /// The filters that follow; `inside`: the first follows without a bar. Null: there is none.
  ExpressionPtr filters(ExpressionPtr node, bool inside = false);

 private:
  ExpressionPtr make(ExpressionKind kind, std::string name = "");
  void add(Expression& parent, ExpressionPtr child) const;
  ExpressionPtr binary(std::string op, ExpressionPtr left, ExpressionPtr right);
  ExpressionPtr conditional();
  ExpressionPtr either();
  ExpressionPtr both();
  ExpressionPtr negation();
  ExpressionPtr comparison();
  ExpressionPtr sum();
  ExpressionPtr concat();
  ExpressionPtr product();
  ExpressionPtr power();
  ExpressionPtr unary(bool with_filters = true);
  ExpressionPtr primary(bool with_namespace = false);
  ExpressionPtr list();
  ExpressionPtr dict();
  ExpressionPtr postfix(ExpressionPtr node);
  ExpressionPtr filters_and_tests(ExpressionPtr node);
  ExpressionPtr subscript(ExpressionPtr node);
  ExpressionPtr subscribed();
  ExpressionPtr test(ExpressionPtr node);
  void arguments(Expression& call);
  void check_target(const Expression& node) const;

  class Nesting;
  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  int nesting_ = 0;
};

}  // namespace trainx::jinja
