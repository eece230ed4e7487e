#include "commands.hpp"
#include "core/error.hpp"
#include "core/process.hpp"
#include "facts/facts.hpp"
#include <CLI/CLI.hpp>
#include <unistd.h>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>

namespace trainx::app {
namespace {

namespace fs = std::filesystem;

struct BenchGuidesArguments {
  std::vector<std::string> rows;
  bool peers = false, tiny = false, again = false;
  std::string out, python = "python3";
  std::int64_t rounds = 3;
  double seconds = 1, limit = 0;
};

/// bench/drive of the tree that trainx was built in, or of the one that it was installed with.
fs::path find_driver() {
  const fs::path own = fs::path(executable_path()).parent_path();
  for (fs::path folder = own;; folder = folder.parent_path()) {
    for (const fs::path& root : {folder, folder / "share" / "trainx"})
      if (fs::exists(root / "bench" / "drive") &&
          fs::exists(root / "configs" / "bench" / "guides.yaml"))
        return root / "bench" / "drive";
    if (folder == folder.parent_path()) break;
  }
  throw UserError(ExitCode::input_missing, "bench guides: no folder above " + own.string() +
                                               " has bench/drive, which takes the turns; run the "
                                               "trainx of a source tree, or install it anew");
}

std::vector<std::string> command_of(const BenchGuidesArguments& a, const Context& context,
                                    const fs::path& driver) {
  std::vector<std::string> words{a.python,
                                 driver.string(),
                                 "run",
                                 "--suite",
                                 "guides",
                                 "--trainx",
                                 executable_path(),
                                 "--out",
                                 (fs::path(a.out) / "rows").string(),
                                 "--report",
                                 a.out,
                                 "--caches",
                                 "kept",
                                 "--rounds",
                                 std::to_string(a.rounds),
                                 "--seconds-per-round",
                                 std::to_string(a.seconds)};
  const auto add = [&](std::initializer_list<std::string> more) {
    words.insert(words.end(), more);
  };
  if (a.limit > 0) add({"--limit", std::to_string(a.limit)});
  if (!a.peers) add({"--without", "Trainer"});
  if (a.tiny) add({"--tiny"});
  if (a.again) add({"--again"});
  if (context.output.json) add({"--json"});
  if (context.output.quiet) add({"--quiet"});
  add({"--"});
  words.insert(words.end(), a.rows.begin(), a.rows.end());
  return words;
}

/// The driver takes this process's place: its signals and exit code are the command's.
int run_guides(BenchGuidesArguments a, const Context& context) {
  if (a.rounds < 1 || !(a.seconds > 0) || a.limit < 0)
    throw UserError(ExitCode::usage,
                    "bench guides: --rounds and --seconds must be above 0, and --limit not below");
  if (!a.tiny && facts::detect_hardware().gpus.empty())
    throw UserError(ExitCode::unavailable,
                    "bench guides measures BERT-large in tf32, fp16 and bf16 on a GPU, and this "
                    "machine has none that trainx sees; --tiny tries the rows with a small model");
  const fs::path driver = find_driver();
  if (a.out.empty()) a.out = std::string("outputs/bench-guides") + (a.tiny ? "-tiny" : "");
  std::error_code error;
  if (fs::create_directories(fs::path(a.out) / "rows", error); error)
    throw UserError(ExitCode::cannot_create,
                    "bench guides: " + a.out + " cannot be made: " + error.message());
  std::vector<std::string> words = command_of(a, context, driver);
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  std::fflush(nullptr);
  ::execvp(argv[0], argv.data());
  throw UserError(ExitCode::unavailable, "bench guides: " + a.python +
                                             " cannot be started: " + std::strerror(errno) +
                                             "; name a Python 3 with --python");
}

}  // namespace

void add_bench_guides(CLI::App& bench, Context& context) {
  CLI::App* command = bench.add_subcommand(
      "guides",
      "Measure the methods of Hugging Face's guides, beside its Trainer: samples/s and memory.");
  context.usage[command] = "[ROW ...] [--peers] [--out FOLDER]";
  const auto a = std::make_shared<BenchGuidesArguments>();
  command->add_option("ROW", a->rows,
                      "Rows, e.g. vanilla, 1x4, bf16, all-bf16; default: every row.");
  command->add_flag("--peers", a->peers, "Measure the Trainer too, by turns on the same GPU.");
  command
      ->add_option("--python", a->python,
                   "Python with torch, transformers and accelerate, for --peers (python3).")
      ->type_name("PATH");
  command
      ->add_option(
          "--out", a->out,
          "Folder for rows/*.json, guides.md, guides.svg, guides.json (outputs/bench-guides).")
      ->type_name("FOLDER");
  command->add_option("--rounds", a->rounds, "Rounds of each row; the median counts (3).")
      ->type_name("N");
  command->add_option("--seconds", a->seconds, "Length of a round (1).")->type_name("S");
  command
      ->add_option("--limit", a->limit,
                   "Seconds for all rows; the same command continues with the rest.")
      ->type_name("S");
  command->add_flag("--again", a->again, "Measure rows again that were measured.");
  command->add_flag("--tiny", a->tiny, "Use a model of two layers, on any machine.");
  command->footer(
      "Exit code 75: rows are left, run the command again. 69: rows failed; the table says why.");
  command->callback(
      [a, &context] { context.run = [a, &context] { return run_guides(*a, context); }; });
}

}  // namespace trainx::app
