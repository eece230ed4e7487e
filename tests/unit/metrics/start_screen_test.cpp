#include "metrics/start_screen.hpp"
#include "support/catch.hpp"
#include <algorithm>

namespace start_screen_test {

using namespace trainx::metrics;

namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines(1);
  for (const char c : text) c == '\n' ? lines.emplace_back() : (lines.back() += c, lines.back());
  return lines;
}

std::vector<Setting> settings(int set, int planned, int defaults, std::size_t width = 3) {
  std::vector<Setting> all;
  for (int i = 0; i < set; ++i)
    all.push_back({"section.key" + std::to_string(i), std::string(width, 'v'),
                   "r.yaml:" + std::to_string(i) + ":1"});
  for (int i = 0; i < planned; ++i) all.push_back({"plan.key" + std::to_string(i), "7", "planned"});
  for (int i = 0; i < defaults; ++i)
    all.push_back({"default.key" + std::to_string(i), "7", "default"});
  return all;
}

}  // namespace

TEST_CASE("a start is one screen of at most 20 lines of 80 columns, whatever is set") {
  const std::vector<StartRow> rows(8, {"name", std::string(100, 'x')});
  for (const int set : {0, 1, 5, 40, 400})
    for (const std::size_t width : {1, 20, 200}) {
      INFO(set << " settings of " << width);
      const auto lines = lines_of(start_screen("training", rows, settings(set, 30, 60, width)));
      CHECK(lines.size() <= 20);
      for (const std::string& line : lines) CHECK(line.size() <= 80);
    }
}

TEST_CASE("what is set and planned is named, what is default is counted, what has no room too") {
  const std::string few = start_screen("training", {{"memory", "little"}}, settings(2, 1, 3));
  CHECK(lines_of(few) == std::vector<std::string>{"training", "  memory    little",
                                                  "  set       section.key0=vvv, section.key1=vvv",
                                                  "  planned   plan.key0=7",
                                                  "  3 more settings are defaults; -v lists them"});
  const std::string many = start_screen("training", {}, settings(400, 0, 0));
  CHECK(many.find(" more (-v)") != std::string::npos);
  CHECK(many.find("section.key0=vvv") != std::string::npos);
}

TEST_CASE("settings of the command line come first; the run's name is in the title") {
  const std::vector<Setting> all{
      {"run.name", "x", "r.yaml:1:1"}, {"a.b", "1", "r.yaml:1:1"}, {"c.d", "2", "command line"}};
  CHECK(start_screen("training", {}, all) == "training\n  set       c.d=2, a.b=1");
}

}  // namespace start_screen_test
