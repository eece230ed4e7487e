#include "core/files.hpp"
#include "launch/rank_log.hpp"
#include "support/catch.hpp"
#include "support/temporary_folder.hpp"

namespace rank_log_test {

using namespace trainx;
namespace fs = std::filesystem;

TEST_CASE("a log waits for the run's folder, and is added to by the next start") {
  const TemporaryFolder folder;
  const std::string run = folder / "run", file = run + "/logs/rank-3.log";
  {
    launch::RankLog log(run, 3, "-- starts");
    log.write("early");
    CHECK(log.waits());
    CHECK_FALSE(fs::exists(run));
    fs::create_directory(run);
    log.write_kept();
    CHECK_FALSE(log.waits());
    CHECK(read_file(file) == "-- starts\nearly\n");
    log.write("\033[33mwarning:\033[0m late");
  }
  launch::RankLog(run, 3, "-- says nothing");
  CHECK(read_file(file) == "-- starts\nearly\nwarning: late\n");
  launch::RankLog(run, 3, "-- starts again").write("more");
  CHECK(read_file(file) == "-- starts\nearly\nwarning: late\n-- starts again\nmore\n");
}

TEST_CASE("a run that makes no folder leaves nothing, one whose log cannot be made goes on") {
  const TemporaryFolder folder;
  { launch::RankLog(folder / "run", 0, "-- starts").write("refused"); }
  CHECK(fs::is_empty(folder.path()));
  fs::create_directory(folder / "run");
  write_file_atomic(folder / "run/logs", "a file");
  launch::RankLog log(folder / "run", 0, "-- starts");
  log.write("words");
  CHECK_FALSE(log.waits());
}

}  // namespace rank_log_test
