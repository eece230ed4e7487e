#include "imports/document.hpp"
#include "core/error.hpp"
#include "support/catch.hpp"
#include "support/golden.hpp"

namespace trainx::imports::document_test {
namespace {

std::string refusal(const std::string& text) {
  try {
    read_document(text, "f");
  } catch (const UserError& e) {
    CHECK(e.code() == ExitCode::bad_data);
    return e.what();
  }
  return "";
}

std::string place(const yaml::Node& root, const char* key) {
  return yaml::to_string(root.find(key)->where);
}

}  // namespace

TEST_CASE("JSON and YAML become the same tree, whose keys know their places") {
  const yaml::Node json = read_document(
      "{\n  \"a\": 5e-05, \"q\\\"\\\\\": {\"in\": [1, -2, \"x\"]},\n  \"\xC3\xA9\": null, \"z\": "
      "true}",
      "f");
  REQUIRE(json.entries.size() == 4);
  CHECK(json.find("a")->value.text == "5e-05");
  CHECK_FALSE(json.find("a")->value.quoted);
  CHECK(place(json, "a") == "f:2:3");
  CHECK(place(json, "q\"\\") == "f:2:15");
  const yaml::Node& inner = json.find("q\"\\")->value;
  CHECK(place(inner, "in") == "f:2:25");
  REQUIRE(inner.find("in")->value.items.size() == 3);
  CHECK(inner.find("in")->value.items[1].text == "-2");
  CHECK(inner.find("in")->value.items[2].quoted);
  CHECK(json.find("\xC3\xA9")->value.kind == yaml::Node::Kind::null);
  CHECK(place(json, "z") == "f:3:14");

  const yaml::Node yaml = read_document("a: 1\nb:\n  c: 'no'\n", "f");
  CHECK(place(yaml.find("b")->value, "c") == "f:3:3");
  CHECK(yaml.find("b")->value.find("c")->value.quoted);
}

TEST_CASE("what is no map of settings is refused with its place") {
  CHECK(refusal("").starts_with("f:1:1: "));
  check_sentence("foreign.document/must_map_settings_not_null", refusal(""));
  CHECK(refusal("[1]").starts_with("f:1:1: "));
  check_sentence("foreign.document/must_map_settings_not_list", refusal("[1]"));
  CHECK(refusal("{\"a\": 1,\n \"b\": 2,\n \"a\": 3}").starts_with("f:3:2: "));
  check_sentence("foreign.document/there_twice_first_line",
                 refusal("{\"a\": 1,\n \"b\": 2,\n \"a\": 3}"));
  CHECK(refusal("{\"a\": 1,\n \"b\" 2}").starts_with("f:2:6: "));
  check_sentence("foreign.document/not_json_from_here", refusal("{\"a\": 1,\n \"b\" 2}"));
  check_sentence("foreign.document/not_json_from_here_2", refusal("{\"a\": NaN}"));
  check_sentence("foreign.document/not_json_from_here_3", refusal("{\"a\": 1} x"));
  check_sentence("foreign.document/number_too_large", refusal("{\"a\": 1e999}"));
  check_sentence("foreign.document/nested_deeper_than_levels",
                 refusal("{\"a\": " + std::string(100000, '[')));
  CHECK(refusal("{\"a\": \"" + std::string(1 << 20, 'x') + "\"}").starts_with("f:1:1: "));
  check_sentence("foreign.document/larger_than_mib_no_settings",
                 refusal("{\"a\": \"" + std::string(1 << 20, 'x') + "\"}"));
  CHECK(refusal("{\"a\": \"\xFF\"}").find("is not UTF-8") != std::string::npos);
  CHECK(refusal("a: [1\n").starts_with("f:1:4: "));
  CHECK(refusal("a: 1\na: 2\n").starts_with("f:2:1: "));
}

}  // namespace trainx::imports::document_test
