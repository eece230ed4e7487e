#include "adapter/expression.hpp"
#include "adapter/python_syntax.hpp"
#include "support/catch.hpp"
#include "support/user_error.hpp"

namespace expression_test {

using namespace trainx;
using namespace trainx::adapter;

namespace {

bool whole(const std::string& expression, const std::string& name) {
  return Expression(expression, Expression::Extent::whole, "targets").matches(name);
}

std::string refusal(const std::string& expression) {
  return user_error_of([&] { whole(expression, "x"); });
}

}  // namespace

TEST_CASE("expressions match whole names or their beginnings") {
  const std::string name = "model.layers.10.self_attn.q_proj";
  CHECK(whole(".*q_proj", name));
  CHECK(whole(".*\\.q_proj$", name));
  CHECK_FALSE(whole("q_proj", name));
  CHECK_FALSE(whole("model", name));
  CHECK(Expression("model", Expression::Extent::start, "p").matches(name));
  CHECK_FALSE(Expression("layers", Expression::Extent::start, "p").matches(name));
  // A shorter alternative that matches does not hide a longer one.
  CHECK(whole("a|ab", "ab"));
  CHECK(Expression("(?:^|.*?\\.)layers\\.(?P<idx>\\d+)\\.", Expression::Extent::start, "p")
            .group_of_match(name, "idx") == "10");
  CHECK_FALSE(Expression("(?P<idx>x)", Expression::Extent::start, "p").group_of_match(name, "idx"));
}

TEST_CASE("Python's constructs mean what they mean to Python") {
  CHECK(whole("x{,2}", "xx"));
  CHECK(whole("x{,2}", ""));
  CHECK_FALSE(whole("x{,2}", "xxx"));
  CHECK(whole("x{,}", "xxx"));
  CHECK(whole("x{}", "x{}"));
  CHECK(whole("x{a}", "x{a}"));
  CHECK(whole("[[:alpha:]]", "a]"));  // a set of [ : a l p h, and a bracket
  CHECK_FALSE(whole("[[:alpha:]]", "b"));
  CHECK(whole("[]x]+", "]x"));
  CHECK(whole("[^]x]", "y"));
  CHECK(whole("\\x71_proj\\Z", "q_proj"));
  CHECK(whole("a\\vb", "a\vb"));
  CHECK_FALSE(whole("a\\vb", "a\nb"));
  CHECK(whole("(?i)Q_PROJ", "q_proj"));
  CHECK(whole("(?-i:q)(?i:P)", "qp"));
  CHECK(whole("(?P<a>q)(?P=a)(?#twice)", "qq"));
  CHECK(whole("(?<!k)_proj|(?<=q)_proj|.*(?>_proj)", "q_proj"));
}

TEST_CASE("constructs that are read differently are refused by name") {
  for (const std::string expression :
       {"(?R)", "(?|a|b)", "(*UTF)a", "\\Qa\\E", "\\h", "\\K", "\\R", "\\p{L}", "\\z", "a(?i)b",
        "(?u)a", "(?x)a", "[\\1]", "\\10", "\\0", "\\x1", "(?<name>a)", "(?(1)a|b)", "\\"}) {
    INFO(expression);
    CHECK(refusal(expression).starts_with("78: targets: '"));
  }
  for (const std::string expression : {"(", "[a", "*a", "a**", "(?P<a", "(?#", "\\"}) {
    INFO(expression);
    CHECK(refusal(expression).starts_with("78: targets: '"));
  }
  CHECK(refusal(std::string(1 << 17, 'a')).starts_with("78: "));
}

TEST_CASE("an expression that backtracks without end is refused") {
  const Expression slow("(a|aa)+[bc]", Expression::Extent::whole, "targets");
  CHECK(user_error_of([&] { slow.matches(std::string(200, 'a')); }).starts_with("78: targets"));
}

TEST_CASE("escaped names match themselves") {
  for (const std::string name : {"a.b", "x[0]", "a+b", "q-p", "a|b", "$^", "\\"}) {
    INFO(name);
    CHECK(whole(escaped(name), name));
  }
  CHECK_FALSE(whole(escaped("a.b"), "axb"));
}

}  // namespace expression_test
