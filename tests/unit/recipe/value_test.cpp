#include "recipe/value.hpp"
#include "support/catch.hpp"
#include "support/golden.hpp"
#include "yaml/read.hpp"

namespace trainx::recipe::value_test {
namespace {

using Integers = std::vector<std::int64_t>;

yaml::Node node_of(const std::string& text) {
  yaml::Problems problems;
  yaml::Document document = yaml::read_document(text, "t.yaml", problems);
  REQUIRE(problems.empty());
  return std::move(document.root);
}

template <class T>
std::string problem_of(const std::string& text, const Limits& limits = {}) {
  T value{};
  return read_value(node_of(text), value, limits).value_or("");
}

}  // namespace

TEST_CASE(
    "lists of integers: a number alone is a list of one, limits hold for each, and what is written "
    "reads back") {
  for (const auto& [text, expected] : {std::pair{"[]", Integers{}},
                                       {"[7]", {7}},
                                       {"7", {7}},
                                       {"[32, 64, -1]", {32, 64, -1}},
                                       {"- 1\n- 2\n", {1, 2}}}) {
    INFO(text);
    Integers value{99};
    REQUIRE_FALSE(read_value(node_of(text), value, {}));
    CHECK(value == expected);
    Integers again;
    REQUIRE_FALSE(read_value(node_of(write_value(value)), again, {}));
    CHECK(again == value);
  }
  CHECK(write_value(Integers{32, 64}) == "[32, 64]");
  CHECK(type_text(options::Auto<Integers>{}) == "list of integers | auto");
  check_sentence("recipe.value/item_must_least_not",
                 problem_of<Integers>("[1, 0]", options::at_least(1)));
  check_sentence("recipe.value/must_least_not", problem_of<Integers>("0", options::at_least(1)));
  check_sentence("recipe.value/item_must_whole_number_not", problem_of<Integers>("[1, 010]"));
  check_sentence("recipe.value/item_must_whole_number_not_2", problem_of<Integers>("[1, [2]]"));
  check_sentence("recipe.value/must_list_not_map", problem_of<Integers>("{a: 1}"));
  check_sentence("recipe.value/must_whole_number_without_quotes", problem_of<Integers>("'7'"));
}

TEST_CASE("a list that failed to be read leaves the value as it was") {
  Integers value{5};
  CHECK(read_value(node_of("[1, x]"), value, {}));
  CHECK(value == Integers{5});
}

TEST_CASE("auto or a list of integers") {
  options::Auto<Integers> value;
  REQUIRE_FALSE(read_value(node_of("[16, 32]"), value, {}));
  CHECK(*value.value == Integers{16, 32});
  REQUIRE_FALSE(read_value(node_of("auto"), value, {}));
  CHECK(value.is_auto());
  check_sentence("recipe.value/must_whole_number_not_auto",
                 problem_of<options::Auto<Integers>>("long"));
}

}  // namespace trainx::recipe::value_test
