#include "checkpoint/listing.hpp"
#include "checkpoint/verify.hpp"
#include "commands.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "inputs.hpp"
#include "recipe/resolved.hpp"
#include <filesystem>
#include <nlohmann/json.hpp>

namespace trainx::app {
namespace {

namespace fs = std::filesystem;

struct CkptArguments {
  std::string run;
  std::int64_t keep_last = 0;  // 0: as the run's recipe says
};

checkpoint::Store store_of(const std::string& run) {
  if (!fs::is_directory(run))
    throw UserError(ExitCode::input_missing,
                    "ckpt: there is no folder " + run + "; give a run's, outputs/NAME");
  checkpoint::Store store(run);
  if (!fs::exists(run + "/resolved.yaml") && store.list().empty())
    throw UserError(ExitCode::input_missing, "ckpt: " + run + " is no run's folder");
  return store;
}

int run_ls(const std::string& run, const Context& context) {
  auto out = nlohmann::ordered_json::array();
  std::string text;
  store_of(run);  // or why it is none
  for (const auto& found : checkpoint::listing(run)) {
    out.push_back({{"step", found.step},
                   {"bytes", found.bytes},
                   {"links", found.links},
                   {"path", found.path}});
    text += found.path + "  " + human_bytes(found.bytes);
    for (const std::string& link : found.links) text += "  " + link;
    text += "\n";
  }
  if (context.output.json)
    print(out.dump());
  else if (!text.empty())
    print(text);
  else
    say(context, run + " holds no checkpoint yet");
  return 0;
}

/// A checkpoint's folder that was copied elsewhere, or an export.
int verify_folder(const std::string& folder, const Context& context) {
  const std::string problem = checkpoint::problem_of_folder(folder);
  if (context.output.json)
    print(nlohmann::ordered_json::array(
              {{{"path", folder}, {"valid", problem.empty()}, {"problem", problem}}})
              .dump());
  else
    print(folder + "  " + (problem.empty() ? "valid" : "damaged: " + problem) + "\n");
  if (!problem.empty())
    throw UserError(ExitCode::bad_data, folder + " is damaged: " + problem + "; copy it again");
  return 0;
}

int run_verify(const std::string& run, const Context& context) {
  if (fs::exists(run + "/manifest.json")) return verify_folder(run, context);
  const auto store = store_of(run);
  auto out = nlohmann::ordered_json::array();
  std::string text, damaged;
  bool any_valid = false;
  for (const auto& found : store.list()) {
    const std::string problem = store.verify(found.path);
    out.push_back({{"step", found.step},
                   {"path", found.path},
                   {"valid", problem.empty()},
                   {"problem", problem}});
    any_valid |= problem.empty();
    text += found.path + "  " + (problem.empty() ? "valid" : "damaged: " + problem) + "\n";
    if (!problem.empty() && damaged.empty()) damaged = found.path + " is damaged: " + problem;
  }
  if (context.output.json)
    print(out.dump());
  else if (!text.empty())
    print(text);
  else
    say(context, run + " holds no checkpoint yet");
  if (!damaged.empty())
    throw UserError(ExitCode::bad_data,
                    damaged + (any_valid ? "; trainx train goes on from the newest valid one"
                                         : "; none is valid: trainx train begins anew with "
                                           "--overwrite, which removes them"));
  return 0;
}

int run_prune(const CkptArguments& a, const Context& context) {
  auto store = store_of(a.run);
  std::int64_t keep = a.keep_last;
  if (keep == 0) {
    const std::string resolved = a.run + "/resolved.yaml";
    keep = recipe::read_resolved(resolved).recipe.checkpoint.keep_last;
  }
  const FolderLock lock(a.run);  // a run that goes on saves and prunes by itself
  const auto removed = store.prune(keep);
  if (context.output.json)
    print(nlohmann::json{{"removed", removed}, {"keep_last", keep}}.dump());
  else
    for (const std::string& path : removed) print("removed " + path);
  if (removed.empty())
    say(context, "nothing to remove: the newest " + std::to_string(keep) + " and best are kept");
  return 0;
}

}  // namespace

void add_ckpt(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand("ckpt", "List, verify or prune the checkpoints of a run.");
  context.usage[command] = "ls|verify|prune RUN";
  const auto a = std::make_shared<CkptArguments>();
  auto add = [&](const char* name, const char* says, auto run) {
    CLI::App* sub = command->add_subcommand(name, says);
    context.usage[sub] = "RUN";
    sub->add_option("RUN", a->run,
                    std::string(name) == "verify"
                        ? "Folder of a run, outputs/NAME, of a checkpoint or of an export."
                        : "Folder of a run, outputs/NAME.")
        ->required();
    sub->callback(
        [a, &context, run] { context.run = [a, &context, run] { return run(*a, context); }; });
    return sub;
  };
  add("ls", "List checkpoints with size and links latest and best.",
      [](const CkptArguments& given, const Context& c) { return run_ls(given.run, c); });
  add("verify", "Read checkpoints and compare them with their manifests.",
      [](const CkptArguments& given, const Context& c) { return run_verify(given.run, c); });
  CLI::App* prune = add("prune", "Remove all but the newest checkpoints and best.", run_prune);
  context.usage[prune] = "RUN [--keep-last N]";
  prune
      ->add_option("--keep-last", a->keep_last,
                   "Checkpoints to keep; default: checkpoint.keep_last of the run's recipe.")
      ->type_name("N")
      ->check(CLI::Range(1, 1 << 20).description(""));
}

}  // namespace trainx::app
