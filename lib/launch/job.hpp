// What `trainx` hands to `trainx-worker` through a pipe: everything decided, so that the worker
// parses no command line and no recipe file of its own.
#pragma once
#include "comm/membership.hpp"
#include "facts/facts.hpp"
#include "launch/beam_options.hpp"
#include "launch/sampling_options.hpp"
#include <cstdint>
#include <map>
#include <utility>
#include <vector>
#include <nlohmann/json_fwd.hpp>

namespace trainx::launch {

/// How messages leave the process.
struct OutputOptions {
  bool json = false;  // events, one object a line, on stdout
  bool quiet = false, verbose = false;
  bool color = false;  // decided by the launcher: terminal, --no-color, NO_COLOR
  int console = 2;     // descriptor for messages; start_worker decides
};

/// A line of the launcher's log, with which the log of rank 0 begins: level and text.
using LogLine = std::pair<std::string, std::string>;

enum class GenerateOn : std::uint8_t { any, cpu, gpu };  // any: a GPU where one can be used

struct GenerateOptions {
  std::string prompt;
  std::string tokenizer;  // folder or file; empty: the model's own
  std::int64_t max_tokens = 100;
  SamplingOptions sampling;
  BeamOptions beam;
  std::uint64_t seed = 0;
  bool ignore_end_of_text = false;  // goes on behind a token that ends a text
  GenerateOn device = GenerateOn::any;
  DType compute = DType::f32;
};

struct BenchOptions {
  std::int64_t rounds = 5;
  double seconds = 3;  // of a round
  bool paced = false;  // a round of N steps for each line `go N` on stdin instead
};

struct Job {
  // "train", "eval", "generate", "doctor hosts", "bench step", "bench memory-anatomy", "bench
  // operations"
  std::string command;
  std::string resolved_recipe;  // YAML
  std::string recipe_source;    // text of the user's file, kept in the run's folder
  // by dotted key: where each value came from, for the start-up table
  std::map<std::string, std::string> origins;
  facts::Facts facts;
  std::string plan_fingerprint;  // plan::fingerprint of the launcher's plan; train and eval
  // Draft::choices of that plan: the resolved recipe no longer shows what was chosen
  std::vector<std::string> choices;
  std::string run_folder;  // outputs/<name>
  std::string fork_name;   // train: --fork NAME, else empty
  // eval, generate: which one; empty: latest. A Hugging Face folder is allowed for generate.
  std::string checkpoint;
  std::vector<std::string> argv;             // as the user typed
  std::string directory;                     // where: relative paths of the recipe go by it
  std::map<std::string, std::string> build;  // of trainx, for run.json
  std::vector<LogLine> log;
  // train: names this --overwrite, so that a restart does not repeat it; empty: the run resumes
  std::string overwrite;
  bool eval_batches = false;  // eval: only plan.eval_samples, not the whole held-out set
  GenerateOptions generate;
  BenchOptions bench;
  std::int64_t profile_steps = 0;  // train: how many are timed, instruction by instruction
  bool allow_degraded = false;     // train: goes on where what ran is not what was asked
  comm::Membership membership;     // train: which of the run's processes this worker is
  // that the launcher bound it to (facts/core_binding.hpp); empty: to none
  std::vector<int> cores;
  OutputOptions output;
};
nlohmann::json to_json(const Job& job);
Job job_from_json(const nlohmann::json& j);

/// The worker that TRAINX_WORKER names, else the one beside this binary.
std::string worker_path();

/// run_workers (launch/run_workers.hpp) with one worker, which is all of its run.
int run_worker(const Job& job);

/// In the worker, after its signal handlers are installed: asks the kernel to end this process with
/// its parent, lets in the signals that the launcher held back while the worker started, and reads
/// the job from descriptor 3; the listener, if it has one, goes to no process that it starts
/// itself. Throws UserError 2 where there is none.
Job receive_job();

}  // namespace trainx::launch
