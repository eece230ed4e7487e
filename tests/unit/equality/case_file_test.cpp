#include "equality/case_file.hpp"
#include "support/catch.hpp"
#include "support/temporary_folder.hpp"
#include <fstream>
#include <stdexcept>

namespace case_file_test {
using namespace trainx::equality;

std::vector<Case> cases(const std::string& text) {
  const TemporaryFolder folder;
  std::ofstream(folder / "cases.yaml")
      << "recipes:\n  r: |\n    run: {}\n  s: |\n    model: {}\ncases:\n"
      << text;
  return read_cases(folder / "cases.yaml");
}

TEST_CASE("every combination of each becomes a change") {
  const auto found = cases(
      "- name: n\n  recipe: r\n  equal: [loss]\n  with: [a=1]\n  each: {m: [x, y]}\n"
      "  base: [\"b={m}\"]\n  changes:\n  - [\"c={m}\"]\n"
      "  - {each: {k: [\"1\", \"2\"]}, set: [\"d={m}{k}\"], base: [], with: [e=1]}\n  few: 2\n");
  REQUIRE(found.size() == 1);
  const auto& changes = found[0].changes;
  REQUIRE(changes.size() == 6);
  CHECK(found[0].few == 2U);
  CHECK(changes[0].recipe == "run: {}\n");
  CHECK(changes[0].stages == Stages{{"a=1", "c=x"}});
  CHECK(changes[0].base == Stages{{"a=1", "b=x"}});
  CHECK(changes[5].stages == Stages{{"a=1", "e=1", "d=y2"}});
  CHECK(changes[5].base == Stages{{"a=1", "e=1"}});
}

TEST_CASE("a list of lists is stages of one run") {
  const auto found = cases(
      "- name: n\n  recipe: r\n  equal: [model]\n  with: [w=1]\n  changes:\n  - - [a=1]\n    - "
      "[b=2]\n");
  CHECK(found[0].changes[0].stages == Stages{{"w=1", "a=1"}, {"w=1", "b=2"}});
}

TEST_CASE("a change's own relation replaces that of the case") {
  const auto found = cases(
      "- name: n\n  recipe: r\n  within: {loss: 1e-6}\n  changes:\n  - [a=1]\n"
      "  - {set: [b=1], refused: 78, names: [b]}\n");
  CHECK(found[0].changes[0].relation.within.size() == 1);
  const Relation& refused = found[0].changes[1].relation;
  CHECK(refused.refused == 78);
  CHECK(refused.within.empty());
  CHECK(refused.names == std::vector<std::string>{"b"});
}

TEST_CASE("a recipe may be named by a value of each") {
  const auto found = cases(
      "- name: n\n  recipe: \"{kind}\"\n  equal: [loss]\n  each: {kind: [r, s]}\n"
      "  changes:\n  - [a=1]\n");
  REQUIRE(found[0].changes.size() == 2);
  CHECK(found[0].changes[0].recipe == "run: {}\n");
  CHECK(found[0].changes[1].recipe == "model: {}\n");
}

TEST_CASE("bounds, endings and budgets are of a case or a change") {
  const auto found = cases(
      "- name: n\n  recipe: r\n  between: {loss: [0, 1e-3]}\n  near: {loss: 0.5}\n  ends: 80\n"
      "  with: [w=1]\n  budgets: {less: {of: [a=1], share: 0.9}}\n  changes:\n  - [\"b={less}\"]\n"
      "  - {set: [c=1], ends: 0, budgets: {less: {of: [], share: 2}}, between: {loss: [1, 2]}}\n");
  const Change &first = found[0].changes[0], &second = found[0].changes[1];
  CHECK(first.relation.between.at(quantity_of("loss")).high == 1e-3);
  CHECK(first.relation.near.at(quantity_of("loss")) == 0.5);
  CHECK(first.relation.has_base());
  CHECK_FALSE(second.relation.has_base());
  CHECK((first.ends == 80 && second.ends == 0));
  CHECK(first.budgets.at("less").settings == Settings{"w=1", "a=1"});
  CHECK(second.budgets.at("less").settings == Settings{"w=1"});
  CHECK((first.budgets.at("less").share == 0.9 && second.budgets.at("less").share == 2));
}

TEST_CASE("what cases cannot say is refused") {
  const std::string head = "- name: n\n  recipe: r\n";
  for (const std::string& wrong :
       {head + "  equal: [loss]\n", head + "  changes: [[a=1]]\n",
        head + "  equal: [loss]\n  changes: []\n", head + "  equal: [Loss]\n  changes: [[a=1]]\n",
        head + "  within: {loss: x}\n  changes: [[a=1]]\n",
        head + "  within: {loss: nan}\n  changes: [[a=1]]\n",
        head + "  equal: [loss]\n  refused: 78\n  changes: [[a=1]]\n",
        head + "  equal: [loss]\n  few: 0\n  changes: [[a=1]]\n",
        head + "  between: {loss: [1]}\n  changes: [[a=1]]\n",
        head + "  between: {loss: 1}\n  changes: [[a=1]]\n",
        head + "  equal: [loss]\n  budgets: {b: {share: 1}}\n  changes: [[a=1]]\n",
        head + "  equal: [loss]\n  ends: soon\n  changes: [[a=1]]\n",
        head + "  equal: [loss]\n  changes: [{sets: [a=1]}]\n",
        head + "  equal: [loss]\n  change: [[a=1]]\n", std::string("[]\n"),
        std::string("- name: n\n  recipe: other\n  equal: [loss]\n  changes: [[a=1]]\n"),
        head + "  equal: [loss]\n  changes: [[a=1]]\n" + head +
            "  equal: [loss]\n  changes: [[a=1]]\n"}) {
    CAPTURE(wrong);
    CHECK_THROWS_AS(cases(wrong), std::runtime_error);
  }
}

}  // namespace case_file_test
