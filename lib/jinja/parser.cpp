#include "jinja/parser.hpp"
#include "jinja/error.hpp"
#include "jinja/expression_parser.hpp"
#include "jinja/names.hpp"
#include <utility>

namespace trainx::jinja {
namespace {

constexpr int deepest_block = 100;

class Parser final : ExpressionParser {
 public:
  using ExpressionParser::ExpressionParser;

  Body parse_all() {
    Body out = body({});
    return out;
  }

 private:
  StatementPtr make(StatementKind kind) {
    auto node = std::make_unique<Statement>();
    node->kind = kind;
    node->line = now().line;
    return node;
  }

  /// Statements up to a block that begins with one of `ends`, whose name is the next token.
  Body body(std::initializer_list<const char*> ends) {
    if (++depth_ > deepest_block)
      throw TemplateError(Problem::limit, "blocks are nested deeper than 100 levels");
    Body out;
    while (now().kind != TokenKind::end) {
      if (now().kind == TokenKind::data) {
        auto node = make(StatementKind::data);
        node->text = take().text;
        out.push_back(std::move(node));
      } else if (now().kind == TokenKind::variable_begin) {
        auto node = make(StatementKind::output);
        take();
        node->expressions.push_back(tuple(false, true, nullptr, false));
        expect(TokenKind::variable_end, "'}}'");
        out.push_back(std::move(node));
      } else {
        expect(TokenKind::block_begin, "'{%'");
        for (const char* end : ends) {
          if (!now().is_name(end)) continue;
          --depth_;
          return out;
        }
        statement(out);
        expect(TokenKind::block_end, "'%}'");
      }
    }
    if (ends.size() > 0)
      wrong(std::string("the template ends where {% ") + *ends.begin() + " %} is missing");
    --depth_;
    return out;
  }
  Body block(std::initializer_list<const char*> ends) {
    skip_op(":");
    expect(TokenKind::block_end, "'%}'");
    return body(ends);
  }
  /// A block whose end's name is taken too.
  Body whole_block(const char* end) {
    Body out = block({end});
    take();
    return out;
  }

  void statement(Body& out) {
    if (now().kind != TokenKind::name) wrong("expected the name of a block");
    const std::string name = now().text;
    if (name == "for") return out.push_back(loop());
    if (name == "if") return out.push_back(condition());
    if (name == "set") return out.push_back(assignment());
    if (name == "macro") return out.push_back(macro());
    if (name == "call") return out.push_back(call());
    if (name == "with") return out.push_back(with());
    if (name == "print") return print(out);
    if (name == "filter") {
      auto node = make(StatementKind::filter);
      take();
      node->expressions.push_back(filters(nullptr, true));
      node->body = whole_block("endfilter");
      return out.push_back(std::move(node));
    }
    if (name == "generation") {
      auto node = make(StatementKind::generation);
      take();
      node->body = whole_block("endgeneration");
      return out.push_back(std::move(node));
    }
    if (name == "break" || name == "continue") {
      if (loops_ == 0) wrong("{% " + name + " %} stands in no loop");
      auto node = make(name == "break" ? StatementKind::break_ : StatementKind::continue_);
      take();
      return out.push_back(std::move(node));
    }
    for (const char* known : {"block", "extends", "include", "import", "from", "autoescape"})
      if (name == known)
        unsupported("line " + std::to_string(now().line) + ": the block {% " + name + " %}");
    wrong("there is no block {% " + name + " %}");
  }

  StatementPtr loop() {
    auto node = make(StatementKind::for_);
    take();
    node->expressions.push_back(target("in"));
    if (!skip_name("in")) wrong("expected 'in'");
    node->expressions.push_back(tuple(false, false, "recursive", false));
    node->expressions.push_back(skip_name("if") ? expression() : nullptr);
    node->recursive = skip_name("recursive");
    ++loops_;
    node->body = block({"endfor", "else"});
    --loops_;
    if (take().text == "else") node->other = whole_block("endfor");
    return node;
  }
  StatementPtr condition() {
    auto node = make(StatementKind::if_);
    take();
    node->expressions.push_back(tuple(false, false, nullptr, false));
    node->body = block({"elif", "else", "endif"});
    if (now().is_name("elif")) {
      if (++depth_ > deepest_block * 4)
        throw TemplateError(Problem::limit, "a condition has more than 400 branches");
      node->other.push_back(condition());
      --depth_;
    } else if (take().text == "else") {
      node->other = whole_block("endif");
    }
    return node;
  }
  StatementPtr assignment() {
    auto node = make(StatementKind::set);
    take();
    node->expressions.push_back(target(nullptr, true));
    if (skip_op("=")) {
      node->expressions.push_back(tuple(false, true, nullptr, false));
      return node;
    }
    node->kind = StatementKind::set_block;
    node->expressions.push_back(filters(nullptr));
    node->body = whole_block("endset");
    return node;
  }
  void signature(Statement& node) {
    expect_op("(");
    while (!now().is_op(")")) {
      if (!node.parameters.empty()) expect_op(",");
      node.parameters.push_back(expect_name());
      if (skip_op("="))
        node.expressions.push_back(expression());
      else if (!node.expressions.empty())
        wrong("a parameter without a default stands behind one with a default");
    }
    expect_op(")");
  }
  void macro_body(Statement& node, const char* end) {
    const int loops = std::exchange(loops_, 0);
    node.body = whole_block(end);
    loops_ = loops;
    node.uses_caller = reads_name(node.body, "caller");
    node.uses_kwargs = reads_name(node.body, "kwargs");
    node.uses_varargs = reads_name(node.body, "varargs");
  }
  StatementPtr macro() {
    auto node = make(StatementKind::macro);
    take();
    node->text = expect_name();
    signature(*node);
    macro_body(*node, "endmacro");
    return node;
  }
  StatementPtr call() {
    auto node = make(StatementKind::call);
    take();
    if (now().is_op("(")) signature(*node);
    node->call = expression();
    if (node->call->kind != ExpressionKind::call) wrong("expected a call");
    macro_body(*node, "endcall");
    return node;
  }
  StatementPtr with() {
    auto node = make(StatementKind::with);
    take();
    while (now().kind != TokenKind::block_end && !now().is_op(":")) {
      if (!node->targets.empty()) expect_op(",");
      node->targets.push_back(target());
      expect_op("=");
      node->expressions.push_back(expression());
    }
    node->body = whole_block("endwith");
    return node;
  }
  void print(Body& out) {
    take();
    bool first = true;
    while (now().kind != TokenKind::block_end) {
      if (!std::exchange(first, false)) expect_op(",");
      auto node = make(StatementKind::output);
      node->expressions.push_back(expression());
      out.push_back(std::move(node));
    }
  }

  int depth_ = 0, loops_ = 0;
};

}  // namespace

Tree parse(const std::string& source) {
  Tree tree;
  tree.body = Parser(read_tokens(source)).parse_all();
  resolve_names(tree);
  return tree;
}

}  // namespace trainx::jinja
