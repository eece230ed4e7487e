#include "data/json_records.hpp"
#include "data/labelled/line_index.hpp"
#include "expect_user_error.hpp"
#include <random>

namespace trainx::data::json_records_test {
namespace {

const std::string path = "a.json";

std::vector<std::string> records_of(std::string_view text) {
  std::vector<std::string> out;
  JsonRecords records(text, path);
  while (records.next()) {
    out.emplace_back(records.record());
    CHECK(records.number() == static_cast<std::int64_t>(out.size()));
  }
  return out;
}

void refused(const std::string& text, const std::vector<std::string>& parts) {
  INFO(text);
  expect_user_error(ExitCode::bad_data, parts, [&] { records_of(text); });
}

}  // namespace

TEST_CASE("the objects of a JSON array come one by one, whatever is in their strings") {
  using Texts = std::vector<std::string>;
  CHECK(records_of("[]") == Texts{});
  CHECK(records_of(" \n[ {} ]\n") == Texts{"{}"});
  CHECK(records_of("\xEF\xBB\xBF[{\"a\": 1},\r\n{\"b\": [1, {\"c\": 2}]}]") ==
        Texts{"{\"a\": 1}", "{\"b\": [1, {\"c\": 2}]}"});
  CHECK(records_of(R"([{"a": "}]{\"\\"}, {"b": "\\\""}])") ==
        Texts{R"({"a": "}]{\"\\"})", R"({"b": "\\\""})"});
}

TEST_CASE("a walk goes on in the middle of an array, from where a record begins") {
  const std::string text = R"([{"a": 1}, {"b": 2}, {"c": 3}])";
  JsonRecords all(text, path);
  REQUIRE(all.next());
  REQUIRE(all.next());
  for (const std::size_t begin : {all.begin()}) {
    JsonRecords rest(text, path, begin, 2);
    REQUIRE(rest.next());
    CHECK(rest.record() == "{\"b\": 2}");
    CHECK(rest.number() == 2);
    REQUIRE(rest.next());
    CHECK(rest.record() == "{\"c\": 3}");
    CHECK_FALSE(rest.next());
  }
}

TEST_CASE("an array of anything but objects, or without an end, is refused by line") {
  refused("{}", {"a.json:1:"});
  refused("[{},\n 3]", {"a.json:2:", "record 2", "number"});
  refused("[[1]]", {"record 1", "array"});
  refused("[{}\n{}]", {"a.json:2:", "comma"});
  refused("[{},]", {"comma"});
  refused("[{}", {"record 2"});
  refused("[{},", {"record 2"});
  refused("[{}, {\"a\": \"}", {"record 2", "does not end"});
  refused("[{\"a\": \"\\", {"record 1"});
  refused("[{}]\n[]", {"a.json:2:", "goes on"});
}

TEST_CASE("a file of JSON is told by its first bytes") {
  CHECK(json_layout(" \n") == JsonLayout::empty);
  CHECK(json_layout("\n [1]") == JsonLayout::array);
  CHECK(json_layout("{\"a\": 1}\n{\"a\": 2}\n") == JsonLayout::lines);
  CHECK(json_layout("{\"a\": 1}") == JsonLayout::lines);
  CHECK(json_layout("{\n\"a\": 1}") == JsonLayout::object);
  CHECK(json_layout("once upon a time") == JsonLayout::other);
  // What is wrong inside a line is told by the line.
  CHECK(json_layout("{\"a\": \"\\ud800\"}\n") == JsonLayout::lines);
  CHECK(json_layout("{\"a\": \"b\n{\"a\": 1}\n") == JsonLayout::lines);
}

TEST_CASE(
    "an index of JSON has lines, or the records of an array with the lines on which they begin") {
  const auto index = [](const std::string& text) {
    return labelled::LineIndex::of_json(std::as_bytes(std::span(text)), path);
  };
  const std::string array = "[\n{\"a\": 1}, {\"b\": \n2},\n\n{\"c\": 3}]\n",
                    lines = "{\"a\": 1}\n{\"b\": 2}\n";
  const auto records = index(array);
  REQUIRE(records.size() == 3);
  CHECK(records.line(1) == "{\"b\": \n2}");
  CHECK(records.place(path, 1).number == 2);
  CHECK(records.place(path, 1).record == 2);
  CHECK(records.place(path, 2).number == 5);
  REQUIRE(index(lines).size() == 2);
  CHECK(index(lines).line(1) == "{\"b\": 2}");
  CHECK(index(lines).place(path, 1).number == 2);
  CHECK(index(lines).place(path, 1).record == 0);
}

}  // namespace trainx::data::json_records_test
