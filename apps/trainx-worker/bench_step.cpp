#include "bench_run.hpp"
#include "commands.hpp"
#include "core/process.hpp"
#include "core/version.hpp"
#include "joined_ranks.hpp"
#include "recipe/value.hpp"
#include <unistd.h>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

namespace trainx::worker {
namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

constexpr std::int64_t warm_up_steps = 5, timed_steps = 3;

// Since the launcher began, of whose start the kernel counts in clock ticks after boot.
double seconds_since_start() {
  std::ifstream stat("/proc/" + std::to_string(::getppid()) + "/stat"), uptime("/proc/uptime");
  std::string text;
  std::getline(stat, text);
  // from field 3 on; the name may hold blanks
  std::istringstream fields(text.substr(text.rfind(')') + 2));
  std::string field;
  for (int i = 3; i <= 22; ++i) fields >> field;
  double now = 0;
  uptime >> now;
  return now - std::stod(field) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

/// Of the machine, without what the system would give up for a program; nothing where it does not
/// say. Pinned memory is no part of a process's own figures.
std::optional<std::int64_t> available_host_bytes() {
  std::ifstream file("/proc/meminfo");
  for (std::string name, unit; file >> name;) {
    std::int64_t kib = 0;
    if (!(file >> kib)) return {};
    if (name == "MemAvailable:") return kib * 1024;
    std::getline(file, unit);
  }
  return {};
}

struct Round {
  std::int64_t steps = 0;
  double seconds = 0;
  std::optional<double> joules, capped_seconds;
  std::optional<std::int64_t> clock_mhz;
};

Json to_json(const Round& r) {
  Json j{{"steps", r.steps}, {"seconds", r.seconds}};
  j["joules"] = r.joules ? Json(*r.joules) : Json();
  j["power_capped"] = r.capped_seconds ? Json(*r.capped_seconds / r.seconds) : Json();
  j["clock_mhz"] = r.clock_mhz ? Json(*r.clock_mhz) : Json();
  return j;
}

std::string commit_of(const launch::Job& job) {
  const auto found = job.build.find("commit");
  return found == job.build.end() ? "" : found->second;
}

class StepBench {
 public:
  StepBench(const plan::RunPlan& plan, const launch::Job& job, execute::Ranks ranks)
      : plan_(plan),
        commit_(commit_of(job)),
        ranks_(ranks),
        bench_(
            plan, job, [this](const char* name) { phase(name); }, ranks) {}

  /// The step that pays for everything new; then tuning, and steps until all is warm.
  void warm_up() {
    run(1);
    phase("first step");
    first_step_seconds_ = seconds_since_start();
    const auto begin = Clock::now();
    {
      const execute::Ranks::Busy busy(ranks_, "tuning matrix products");
      tuned_ = parts_.device->tune();
    }
    tuning_seconds_ = std::chrono::duration<double>(Clock::now() - begin).count();
    run(warm_up_steps);
    say({{"event", "ready"},
         {"first_step_seconds", first_step_seconds_},
         {"phases", phases_},
         {"tuned", tuned_},
         {"tuning_seconds", tuning_seconds_}});
  }

  void measure(std::int64_t steps) {
    const PowerReading before = parts_.device->power();
    const double seconds = bench_.run_between(steps);
    Round r{steps, seconds, {}, {}, {}};
    const PowerReading after = parts_.device->power();
    if (before.joules && after.joules) r.joules = *after.joules - *before.joules;
    if (before.capped_seconds && after.capped_seconds)
      r.capped_seconds = *after.capped_seconds - *before.capped_seconds;
    r.clock_mhz = after.clock_mhz;
    rounds_.push_back(r);
    Json line{{"event", "round"}};
    line.update(to_json(r));
    say(line);
  }

  void measure_for(double seconds) {
    const auto begin = Clock::now();
    run(3);
    const double step = std::chrono::duration<double>(Clock::now() - begin).count() / 3;
    // as rank 0's clock has it
    measure(std::stoll(ranks_.from_first(
        std::to_string(std::max<std::int64_t>(1, std::llround(seconds / step))))));
  }

  void finish() {
    std::vector<double> times, joules;
    for (const Round& r : rounds_) {
      times.push_back(r.seconds / static_cast<double>(r.steps));
      if (r.joules) joules.push_back(*r.joules / static_cast<double>(r.steps));
    }
    const double step = median(times), tokens = static_cast<double>(plan_.tokens_per_step);
    const auto timed = bench_.run_timed(timed_steps);
    Json work = Json::object();
    for (const auto& [kind, ms] : execute::by_work(timed)) work[std::string(name_of(kind))] = ms;
    Json j{{"event", "done"},
           {"tool", "trainx"},
           {"machine", parts_.device->name()},
           {"versions", {{"trainx", version}}},
           {"commit", commit_}};
    j["model"] = architectures::architecture_name(plan_.dims);
    j["micro_batch_size"] = plan_.batch.micro_batch_size;
    j["sequence_length"] = plan_.recipe.data.sequence_length;
    j["world_size"] = plan_.mesh.world;
    j["mode"] = recipe::write_value(plan_.mode);
    j["samples_per_step"] = plan_.batch.global_batch_size;
    j["tokens_per_step"] = plan_.tokens_per_step;
    j["step_time_ms"] = 1e3 * step;
    j["tokens_per_second"] = tokens / step;
    j["samples_per_second"] = static_cast<double>(plan_.batch.global_batch_size) / step;
    // of this rank's GPU, over its share of the tokens
    j["joules_per_token"] =
        joules.empty() ? Json()
                       : Json(median(joules) * static_cast<double>(plan_.mesh.world) / tokens);
    j["predicted_step_time_ms"] = plan_.time ? Json(1e3 * plan_.time->step_s) : Json();
    j["predicted_peak_memory_bytes"] = plan_.memory.arena_bytes + plan_.memory.library_bytes;
    j["predicted_device_memory_bytes"] = plan_.memory.total_bytes();
    j["host_bytes"] = plan_.memory.host_bytes;
    j["predicted_host_memory_bytes"] = plan_.memory.host_bytes + plan_.memory.beside_host_bytes;
    const auto available = available_host_bytes();
    j["host_memory_bytes"] = available && available_before_ ? Json(*available_before_ - *available)
                                                            : Json();
    j["disk_bytes"] = plan_.memory.disk_bytes;
    if (const disk::Disk* disk = parts_.device->disk()) j["disk"] = disk->describe();
    j["device_waits_share"] = waits_share(timed);
    j["peak_memory_bytes"] = parts_.device->peak_bytes();
    j["device_memory_bytes"] = parts_.device->process_bytes();
    j["first_step_seconds"] = first_step_seconds_;
    j["tuned"] = tuned_;
    j["tuning_seconds"] = tuning_seconds_;
    j["loss"] = bench_.loss();
    j["work_ms"] = work;
    j["matrix_products"] = products_of(timed);
    if (const auto& captured = parts_.executor->captured_kernels(); !captured.empty())
      j["kernels"] = captured.back().kernels;
    j["rounds"] = Json::array();
    for (const Round& r : rounds_) j["rounds"].push_back(to_json(r));
    say(j);
  }

 private:
  static double median(std::vector<double> x) {
    std::ranges::sort(x);
    return x.empty()      ? std::nan("")
           : x.size() % 2 ? x[x.size() / 2]
                          : (x[x.size() / 2 - 1] + x[x.size() / 2]) / 2;
  }

  /// Of the steps' time, that in which nothing is computed: what the computation waits for other
  /// lanes - updates on the host, copies, transfers with the disk, collectives - in between and at
  /// the end, and its own copies, which may queue behind theirs.
  static double waits_share(const std::vector<execute::StepTimes>& timed) {
    double waits = 0, all = 0;
    for (const auto& t : timed) {
      double computed = 0;
      for (const auto& span : t.spans)
        if (span.lane == program::Lane::compute && span.work != Work::wait &&
            span.work != Work::copy)
          computed += span.ms;
      waits += t.ms - computed;
      all += t.ms;
    }
    return all > 0 ? waits / all : 0;
  }

  /// Milliseconds of a step by sizes.
  static Json products_of(const std::vector<execute::StepTimes>& timed) {
    std::map<std::string, std::pair<int, double>> sums;
    for (const auto& t : timed)
      for (const auto& span : t.spans)
        if (span.work == Work::matrix_product) {
          auto& [count, ms] = sums[span.detail];
          ++count;
          ms += span.ms;
        }
    Json out = Json::object();
    for (const auto& [name, sum] : sums)
      out[name] = {{"count", sum.first / timed_steps}, {"ms", sum.second / timed_steps}};
    return out;
  }

  /// Seconds since the start when a phase of the set-up was done.
  void phase(const char* name) { phases_[name] = seconds_since_start(); }

  void run(std::int64_t steps) { bench_.run(steps); }

  void say(const Json& object) const {
    if (!ranks_.is_first()) return;
    std::printf("%s\n", object.dump().c_str());
    std::fflush(stdout);
  }

  const std::optional<std::int64_t> available_before_ = available_host_bytes();
  const plan::RunPlan& plan_;
  std::string commit_;  // of trainx, for the results
  execute::Ranks ranks_;
  Json phases_ = Json::object();
  BenchRun bench_;
  train::TrainingParts& parts_ = bench_.parts();
  double first_step_seconds_ = 0, tuning_seconds_ = 0;
  int tuned_ = 0;
  std::vector<Round> rounds_;
};

}  // namespace

int bench_step(const launch::Job& job) {
  const auto loaded = recipe::parse_recipe(job.resolved_recipe, "resolved recipe");
  const plan::RunPlan plan = plan_of(job, loaded.recipe);
  JoinedRanks joined(job, plan);
  const execute::Ranks ranks = joined.ranks();
  const auto next_line = [&](std::string& line) {  // that rank 0 reads; empty at the end
    line.clear();
    if (ranks.is_first()) {
      // others may take their turn for as long as they like
      const execute::Ranks::Busy busy(ranks, "waiting for a line on stdin");
      std::getline(std::cin, line);
    }
    line = ranks.from_first(line);
    return !line.empty();
  };
  StepBench bench(plan, job, ranks);
  bench.warm_up();
  if (job.bench.paced) {
    for (std::string line; next_line(line);) {
      std::istringstream words(line);
      std::string go;
      std::int64_t steps = 0;
      if (!(words >> go >> steps) || go != "go" || steps < 1)
        throw UserError(ExitCode::usage, "bench step --paced: '" + line + "' is no `go N`");
      bench.measure(steps);
    }
  } else {
    for (std::int64_t r = 0; r < job.bench.rounds; ++r) bench.measure_for(job.bench.seconds);
  }
  bench.finish();
  joined.leave();
  return 0;
}

}  // namespace trainx::worker
