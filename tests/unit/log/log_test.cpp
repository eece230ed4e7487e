#include "log/log.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "support/catch.hpp"
#include "support/temporary_folder.hpp"
#include <cstdlib>
#include <regex>

namespace log_test {

namespace {

using namespace trainx;

std::vector<std::string> lines_of(const std::string& path) {
  std::vector<std::string> lines;
  const std::string text = read_file(path);
  for (std::size_t begin = 0; begin < text.size(); begin = text.find('\n', begin) + 1)
    lines.push_back(text.substr(begin, text.find('\n', begin) - begin));
  return lines;
}

bool says(const std::string& line, const std::string& level, int rank, int step,
          const std::string& text) {
  const std::string place = " rank " + std::to_string(rank) + " step " + std::to_string(step) +
                            ": ";
  return std::regex_match(
      line, std::regex(R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z )" + level + " *" + place + text));
}

}  // namespace

TEST_CASE(
    "each line of the file has level, rank and step; lines from before it was open come first") {
  const TemporaryFolder folder;
  const std::string path = folder / "rank-3.log";
  log::set_rank(3);
  log::set_step(0);
  log::debug("too little to tell");
  log::info("kept");
  REQUIRE(log::open_file(path, log::Level::info));
  log::set_step(7);
  log::warning("two\nlines");
  log::debug("not in the file");
  log::record(log::Level::error, "last");
  log::close_file();
  log::info("after the end");
  const auto lines = lines_of(path);
  REQUIRE(lines.size() == 4);
  CHECK(says(lines[0], "info", 3, 0, "kept"));
  CHECK(says(lines[1], "warning", 3, 7, "two"));
  CHECK(says(lines[2], "warning", 3, 7, "lines"));
  CHECK(says(lines[3], "error", 3, 7, "last"));
}

TEST_CASE("a file is appended to, and one that cannot be opened is no error") {
  const TemporaryFolder folder;
  const std::string path = folder / "rank-0.log";
  CHECK_FALSE(log::open_file(folder / "missing/rank-0.log", log::Level::debug));
  for (const char* text : {"first", "second"}) {
    REQUIRE(log::open_file(path, log::Level::debug));
    log::debug(text);
    log::close_file();
  }
  CHECK(lines_of(path).size() == 2);
}

TEST_CASE("the screen made last shows lines of its level; recorded lines are not shown") {
  std::string outer, inner;
  const log::Screen first(log::Level::debug,
                          [&](log::Level, std::string_view text) { outer += text; });
  {
    const log::Screen second(log::Level::warning, [&](log::Level level, std::string_view text) {
      inner += std::string(log::name_of(level)) + " " + std::string(text);
    });
    log::debug("a");
    log::warning("b");
    log::record(log::Level::error, "c");
  }
  log::debug("d");
  CHECK(inner == "warning b");
  CHECK(outer == "d");
}

TEST_CASE("TRAINX_LOG names a level") {
  ::unsetenv("TRAINX_LOG");
  CHECK_FALSE(log::level_from_environment());
  ::setenv("TRAINX_LOG", "debug", 1);
  CHECK(log::level_from_environment() == log::Level::debug);
  ::setenv("TRAINX_LOG", "debgu", 1);
  try {
    log::level_from_environment();
    FAIL("an unknown level was taken");
  } catch (const UserError& e) { CHECK(e.code() == ExitCode::usage); }
  ::unsetenv("TRAINX_LOG");
}

}  // namespace log_test
