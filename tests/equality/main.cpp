// Holds runs that must be equal, near or refused against each other.
//   equality FILE.yaml ... [--only WORD] [--seconds N] [--seed N] [--list] [--margins]
// FILE.py prints such a file: it is run with the seed.
// --margins tries the changes that have bounds, and prints the largest share that a difference
// takes of each bound of a case: a test that takes most of one may fail by chance.
// All changes of all cases; with --seconds each case tries its `few` and then as many drawn ones as
// end within N seconds. The seed: --seed, else TRAINX_TEST_SEED, else by TRAINX_DRAW, which names
// the commit, else drawn. TRAINX_CASES_SECONDS is as --seconds. Exit code: 0 all hold, 1 some do
// not, 2 the command or a file is wrong.
#include "equality/compare.hpp"
#include "equality/runs.hpp"
#include "support/source_dir.hpp"
#include "support/temporary_folder.hpp"
#include "trainx/worker_main.hpp"
#include "launch/worker_process.hpp"
#include <unistd.h>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <numeric>
#include <random>
#include <stdexcept>

namespace {

using namespace trainx::equality;
using Clock = std::chrono::steady_clock;

struct Asked {
  std::vector<std::string> files;
  std::string only;
  std::optional<double> seconds;
  std::uint64_t seed = 0;
  bool list = false, margins = false;
};

/// The largest share of each bound of a case, and the change that takes it.
struct Largest {
  double share = 0;
  std::string change;
};
using LargestShares = std::map<std::string, Largest>;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

std::uint64_t seed_of_environment() {
  constexpr std::uint64_t seeds = 1'000'000;
  if (const std::string seed = environment("TRAINX_TEST_SEED"); !seed.empty())
    return std::stoull(seed);
  if (const std::string draw = environment("TRAINX_DRAW"); !draw.empty())
    return std::hash<std::string>{}(draw) % seeds;
  return std::random_device{}() % seeds;
}

Asked asked_of(int argc, char** argv) {
  Asked asked;
  const std::string seconds = environment("TRAINX_CASES_SECONDS");
  if (!seconds.empty()) asked.seconds = std::stod(seconds);
  asked.seed = seed_of_environment();
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--list") {
      asked.list = true;
    } else if (word == "--margins") {
      asked.margins = true;
    } else if (word.starts_with("--")) {
      if (i + 1 == argc) throw std::runtime_error(word + " takes a value");
      const std::string value = argv[++i];
      if (word == "--only")
        asked.only = value;
      else if (word == "--seconds")
        asked.seconds = std::stod(value);
      else if (word == "--seed")
        asked.seed = std::stoull(value);
      else
        throw std::runtime_error("no such option: " + word);
    } else {
      asked.files.push_back(word);
    }
  }
  if (asked.files.empty())
    throw std::runtime_error("equality FILE.yaml ... [--only WORD] [--seconds N] [--seed N]");
  return asked;
}

void fill(Stages& stages, const std::string& hole, const std::string& value) {
  for (Settings& settings : stages)
    for (std::string& setting : settings)
      if (const auto at = setting.find(hole); at != std::string::npos)
        setting.replace(at, hole.size(), value);
}

/// The change with bytes in the place of the names of its budgets.
Change with_budgets(Runs& runs, Change change) {
  for (const auto& [name, budget] : change.budgets) {
    const double bytes = budget.share * runs.planned_bytes(change.recipe, budget.settings);
    const std::string text = std::to_string(static_cast<std::int64_t>(bytes)) + " B";
    fill(change.stages, "{" + name + "}", text);
    fill(change.base, "{" + name + "}", text);
  }
  return change;
}

void note(const std::vector<Margin>& margins, const std::string& change, LargestShares& shares) {
  for (const Margin& margin : margins) {
    Largest& largest = shares[margin.of];
    if (std::isnan(margin.share) || margin.share > largest.share) largest = {margin.share, change};
  }
}

/// What does not hold of one change, empty if all of it does.
std::string problem_of(Runs& runs, const Change& planned, LargestShares& shares) {
  const Change change = with_budgets(runs, planned);
  if (change.relation.refused) return runs.refusal(change.recipe, change.stages, change.relation);
  static const Results nothing;
  const Results& base =
      change.relation.has_base() ? runs.base(change.recipe, change.base, change.ends) : nothing;
  const Results changed = runs.train(change.recipe, change.stages, change.ends);
  note(margins(change.relation, changed, base), change.name, shares);
  std::string all;
  for (const std::string& one : differences(change.relation, changed, base))
    all += (all.empty() ? "" : "\n    ") + one;
  return all;
}

/// Number of changes that do not hold.
int try_case(Runs& runs, const Case& of, const Asked& asked) {
  const auto begin = Clock::now();
  std::vector<std::size_t> order(of.changes.size());
  std::iota(order.begin(), order.end(), 0U);
  std::seed_seq seed{asked.seed, std::uint64_t{std::hash<std::string>{}(of.name)}};
  std::mt19937_64 draw(seed);
  std::shuffle(order.begin(), order.end(), draw);
  const std::size_t few = of.few.value_or(order.size());
  int failed = 0;
  std::size_t tried = 0;
  LargestShares shares;
  if (asked.margins)
    std::erase_if(order, [&](std::size_t c) { return !of.changes[c].relation.has_bounds(); });
  for (const std::size_t index : order) {
    if (tried >= few && asked.seconds && seconds_since(begin) >= *asked.seconds) break;
    ++tried;
    const Change& change = of.changes[index];
    std::string problem;
    try {
      problem = problem_of(runs, change, shares);
    } catch (const std::exception& error) { problem = error.what(); }
    if (problem.empty()) continue;
    ++failed;
    std::printf("FAILED %s\n  %s\n    %s\n", of.name.c_str(), change.name.c_str(), problem.c_str());
  }
  std::printf("%s %s: %zu of %zu changes, %.1f s\n", failed ? "failed" : "ok", of.name.c_str(),
              tried, order.size(), seconds_since(begin));
  for (const auto& [bound, largest] : shares)
    if (asked.margins)
      std::printf("  %.3f of %s: %s\n", largest.share, bound.c_str(), largest.change.c_str());
  std::fflush(stdout);
  return failed;
}

void run_python(const std::string& words) {
  const std::string command = "python3 " + words;
  if (std::system(command.c_str()) != 0) throw std::runtime_error(command + " failed");
}

/// The file of cases: what a Python file prints, or the file itself.
std::string cases_at(const std::string& file, const std::string& folder, std::uint64_t seed) {
  if (!file.ends_with(".py")) return file;
  std::string printed = folder + "/cases.yaml";
  run_python("'" + file + "' " + std::to_string(seed) + " > '" + printed + "'");
  return printed;
}

int run(const Asked& asked) {
  const TemporaryFolder folder;
  run_python("'" + source_dir() + "/tests/equality/write_data.py' " + folder.path());
  int cases = 0, failed = 0;
  for (const std::string& file : asked.files) {
    Runs runs(folder.path(), asked.seed);
    for (const Case& one : read_cases(cases_at(file, folder.path(), asked.seed))) {
      if (one.name.find(asked.only) == std::string::npos) continue;
      ++cases;
      if (asked.list)
        std::printf("%s: %zu changes\n", one.name.c_str(), one.changes.size());
      else
        failed += try_case(runs, one, asked) > 0;
    }
    if (!asked.list) std::printf("%s: %d commands of trainx\n", file.c_str(), runs.started());
  }
  if (cases == 0) throw std::runtime_error("no case has " + asked.only + " in its name");
  if (!asked.list)
    std::printf("seed %llu: %d passed, %d failed\n", static_cast<unsigned long long>(asked.seed),
                cases - failed, failed);
  return failed > 0 ? 1 : 0;
}

/// Libraries read these when they are loaded: one thread a process, that waits without spinning.
void load_again_with_environment(char** argv) {
  if (std::getenv("OMP_NUM_THREADS")) return;
  ::setenv("OMP_NUM_THREADS", "1", 1);
  ::setenv("OMP_WAIT_POLICY", "passive", 1);
  ::execv("/proc/self/exe", argv);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    load_again_with_environment(argv);
    ::setenv("CUDA_VISIBLE_DEVICES", "", 1);
    for (const char* name : {"TRAINX_SET", "TRAINX_LOG", "TRAINX_WORKER"}) ::unsetenv(name);
    const Asked asked = asked_of(argc, argv);
    trainx::launch::start_workers_as_forks(trainx::worker_main);
    return run(asked);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "equality: %s\n", error.what());
    return 2;
  }
}
