#include "start_launcher.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "core/process.hpp"
#include <nlohmann/json.hpp>
#include <unistd.h>
#include <cerrno>
#include <cstdlib>
#include <filesystem>

namespace trainx::worker {
namespace {

using nlohmann::json;

constexpr const char* arguments_variable = "TRAINX_RUN_ARGUMENTS";

/// Empty: to be looked for along PATH.
std::string launcher_path(const std::string& built_with) {
  if (const std::string named = environment_variable("TRAINX_LAUNCHER"); !named.empty())
    return named;
  std::error_code missing;
  return std::filesystem::exists(built_with, missing) ? built_with : "";
}

}  // namespace

void start_launcher(const LauncherCommand& command) {
  const std::string path = launcher_path(command.built_with);
  std::vector<std::string> words{path.empty() ? "trainx" : path, "--worker", executable_path(),
                                 "train", command.recipe};
  words.insert(words.end(), command.settings.begin(), command.settings.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const std::string handed =
      json(command.arguments).dump(-1, ' ', false, json::error_handler_t::replace);
  ::setenv(arguments_variable, handed.c_str(), 1);
  path.empty() ? ::execvp("trainx", argv.data()) : ::execv(path.c_str(), argv.data());
  throw UserError(ExitCode::unavailable,
                  words.front() + " cannot be started: " + errno_words(errno) +
                      "; name the trainx command with TRAINX_LAUNCHER, or put it into PATH");
}

std::vector<std::string> handed_arguments() {
  const json j = json::parse(environment_variable(arguments_variable), nullptr, false);
  std::vector<std::string> out;
  if (!j.is_array()) return out;
  for (const json& word : j)
    if (word.is_string()) out.push_back(word.get<std::string>());
  return out;
}

}  // namespace trainx::worker
