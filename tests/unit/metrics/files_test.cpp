#include "core/error.hpp"
#include "core/files.hpp"
#include "metrics/metrics_file.hpp"
#include "metrics/report.hpp"
#include "metrics/run_files.hpp"
#include "support/catch.hpp"
#include <nlohmann/json.hpp>
#include <sys/resource.h>
#include <unistd.h>
#include <cmath>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <fstream>

namespace files_test {

namespace {

using namespace trainx::metrics;
namespace fs = std::filesystem;

struct Folder {
  fs::path path = fs::temp_directory_path() / ("trainx-metrics-" + std::to_string(::getpid()));
  Folder() { fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
};

std::vector<std::int64_t> steps_in(const fs::path& file) {
  std::vector<std::int64_t> steps;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);)
    steps.push_back(nlohmann::json::parse(line).at("step"));
  return steps;
}

nlohmann::ordered_json line_of(std::int64_t step) {
  StepReport r;
  r.step = step;
  return to_json(r);
}

}  // namespace

TEST_CASE(
    "metrics.jsonl goes on after the resumed step, without repeated steps or a cut-off line") {
  const Folder folder;
  const std::string path = folder.path / "metrics.jsonl";
  {
    MetricsFile file(path, 0);
    for (int step = 10; step <= 50; step += 10) file.append(line_of(step));
    // each line is there at once
    CHECK(steps_in(path) == std::vector<std::int64_t>{10, 20, 30, 40, 50});
  }
  std::ofstream(path, std::ios::app) << "{\"step\":60,\"lo";
  {
    MetricsFile file(path, 30);
    CHECK(steps_in(path) == std::vector<std::int64_t>{10, 20, 30});
    file.append(line_of(40));
  }
  CHECK(steps_in(path) == std::vector<std::int64_t>{10, 20, 30, 40});
  std::ofstream(path, std::ios::app) << std::string("\0\0garbage\n", 10);
  MetricsFile file(path, 1000);
  CHECK(steps_in(path) == std::vector<std::int64_t>{10, 20, 30, 40});
  MetricsFile again(path, 0);  // a run that begins anew
  CHECK(fs::file_size(path) == 0);
}

TEST_CASE("a disk without room keeps lines back until there is room, and no half line is left") {
  const Folder folder;
  const std::string path = folder.path / "metrics.jsonl";
  MetricsFile file(path, 0);
  file.append(line_of(1));
  const auto size = fs::file_size(path);
  // A limit on the size of files stands in for a full disk: the kernel writes as much as fits.
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit tight{static_cast<rlim_t>(size + 20), before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &tight);
  file.append(line_of(2));
  file.append(line_of(3));
  const std::string problem = file.problem();
  const auto during = fs::file_size(path);
  setrlimit(RLIMIT_FSIZE, &before);
  CHECK(during == size);
  CHECK(problem.find(path) != std::string::npos);
  file.append(line_of(4));
  CHECK(file.problem().empty());
  CHECK(steps_in(path) == std::vector<std::int64_t>{1, 2, 3, 4});
}

TEST_CASE("status.json and run.json hold what scripts look for") {
  const Folder folder;
  for (const Durability durability : {Durability::survives_power_loss, Durability::survives_kill}) {
    write_status(folder.path / "status.json",
                 {"stopped", "SIGTERM", 143, 12, true, 10, 2.5, 0.25, 48}, durability);
    auto status = nlohmann::json::parse(trainx::read_file(folder.path / "status.json"));
    CHECK(std::abs(status["unix_time_s"].get<double>() - static_cast<double>(std::time(nullptr))) <
          60);
    status.erase("unix_time_s");
    CHECK(status == nlohmann::json{{"state", "stopped"},
                                   {"reason", "SIGTERM"},
                                   {"exit_code", 143},
                                   {"step", 12},
                                   {"saved_step", 10},
                                   {"resumable", true},
                                   {"seconds", 2.5},
                                   {"epoch", 0.25},
                                   {"samples_per_second", 48}});
  }
  // nothing is left aside
  CHECK(std::distance(fs::directory_iterator(folder.path), fs::directory_iterator()) == 1);
  CHECK_THROWS_AS(write_status(folder.path / "none" / "status.json", {}, Durability::survives_kill),
                  trainx::UserError);
  trainx::write_file_atomic(folder.path / "run.json",
                            run_info_json({.build = {{"version", "0.1.0"}, {"commit", "c0ffee"}},
                                           .host = "host",
                                           .devices = {"a CPU"},
                                           .argv = {"trainx", "train", "x.yaml"},
                                           .directory = "/home/x",
                                           .started = "2026-01-31T09:30:00Z"}));
  const auto run = nlohmann::json::parse(trainx::read_file(folder.path / "run.json"));
  CHECK(run["argv"] == std::vector<std::string>{"trainx", "train", "x.yaml"});
  CHECK(run["devices"] == std::vector<std::string>{"a CPU"});
  CHECK(run["started"] == "2026-01-31T09:30:00Z");
  CHECK(run["commit"] == "c0ffee");
  CHECK(run["libtorch"] == "unknown");
  CHECK_FALSE(run.contains("overwrite"));
  CHECK(run_info_text(folder.path / "run.json", "directory") == "/home/x");
  CHECK(run_info_text(folder.path / "run.json", "argv").empty());  // not a text
  CHECK(run_info_text(folder.path / "none.json", "directory").empty());
}

TEST_CASE("ECC's counters come beside what run.json has, which a damaged one keeps") {
  trainx::MemoryErrors begin, end;
  begin.uncorrected = 1;
  end.uncorrected = 3;
  end.row_remap_pending = true;
  const std::string info = run_info_json({.host = "here"});
  const auto j =
      nlohmann::json::parse(with_memory_errors(with_memory_errors(info, begin, begin), begin, end));
  CHECK(j.at("host") == "here");
  CHECK(j.at("gpu_memory_errors") ==
        nlohmann::json{{"begin", {{"ecc_uncorrected", 1}}},
                       {"end", {{"ecc_uncorrected", 3}, {"row_remap_pending", true}}}});
  CHECK(with_memory_errors("{\"host\":", begin, end) == "{\"host\":");
}

}  // namespace files_test
