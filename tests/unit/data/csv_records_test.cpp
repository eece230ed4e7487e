#include "data/csv_records.hpp"
#include "data/source.hpp"
#include "expect_user_error.hpp"
#include "sample.hpp"
#include "scratch_folder.hpp"
#include <vector>

namespace trainx::data::csv_records_test {
namespace {

struct Found {
  std::string text;
  std::int64_t line = 0;
  bool operator==(const Found&) const = default;
};

std::vector<Found> records(std::string_view text, char delimiter = ',') {
  std::vector<Found> out;
  for (CsvRecords r(text, delimiter); r.next();) out.push_back({std::string(r.record()), r.line()});
  return out;
}

}  // namespace

TEST_CASE("a quoted field of csv may hold line ends, delimiters and quotes") {
  using All = std::vector<Found>;
  CHECK(records("a,b\n1,2\n") == All{{"a,b", 1}, {"1,2", 2}});
  CHECK(records("a\r\n\"x\r\ny\",1\r\nz") == All{{"a", 1}, {"\"x\r\ny\",1", 2}, {"z", 4}});
  CHECK(records("\"a \"\"q\"\",\n\nb\",1\nc") == All{{"\"a \"\"q\"\",\n\nb\",1", 1}, {"c", 4}});
  CHECK(records("x\"y\nz") == All{{"x\"y", 1}, {"z", 2}});  // a quote inside a field opens nothing
  CHECK(records("1,\"\"\n2") == All{{"1,\"\"", 1}, {"2", 2}});
  CHECK(records("\n \n1\n\n\n2\n\n") == All{{"1", 3}, {"2", 6}});
  CHECK(records("1,\"open\n2\n3") == All{{"1,\"open\n2\n3", 1}});
  CHECK(records("\"a\tb\n\"\tc\nd", '\t') == All{{"\"a\tb\n\"\tc", 1}, {"d", 3}});
  CHECK(records("").empty());
  CHECK(records("\"") == All{{"\"", 1}});
}

TEST_CASE("records of csv are samples, wherever their lines end; blank lines are none") {
  const ScratchFolder folder;
  SourceOptions how;
  how.sequence_length = 4;
  how.targets = Targets::label;
  const auto source = open_source(
      options::CsvOptions{
          folder.write("a.csv", "note,input_ids,label\n\"two\nlines\",5 6,1\n\nplain,7,0\n"),
          std::nullopt,
          false,
          {}},
      Split::train, how);
  REQUIRE(source->samples() == 2);
  CHECK(read_sample(*source, 0, 4).tokens == Ids{5, 6, 0, 0});
  CHECK(read_sample(*source, 1, 4).label == Ids{0});
  expect_user_error(ExitCode::bad_data, {"b.csv:4", "no label"}, [&] {
    open_source(options::CsvOptions{folder.write("b.csv",
                                                 "note,input_ids,label\n\"two\nlines\",5,"
                                                 "1\nx,7,\n"),
                                    std::nullopt,
                                    false,
                                    {}},
                Split::train, how);
  });
  expect_user_error(ExitCode::bad_data, {"c.csv:2", "not closed"}, [&] {
    open_source(
        options::CsvOptions{
            folder.write("c.csv", "input_ids,label\n\"5,1\n6,0\n"), std::nullopt, false, {}},
        Split::train, how);
  });
  const auto lines =
      open_source(options::JsonlOptions{folder.write("d.jsonl",
                                                     "\n{\"input_ids\": [1], \"label\": 1}\n\r\n \n"
                                                     "{\"input_ids\": [2], \"label\": 0}\n\n"),
                                        std::nullopt, false},
                  Split::train, how);
  REQUIRE(lines->samples() == 2);
  CHECK(read_sample(*lines, 1, 2).tokens == Ids{2, 0});
  expect_user_error(ExitCode::bad_data, {"e.jsonl:3", "no label"}, [&] {
    open_source(options::JsonlOptions{folder.write("e.jsonl",
                                                   "{\"input_ids\": [1], \"label\": 1}\n"
                                                   "\n{\"input_ids\": [2]}\n"),
                                      std::nullopt, false},
                Split::train, how);
  });
}

}  // namespace trainx::data::csv_records_test
