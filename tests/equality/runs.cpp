#include "equality/runs.hpp"
#include <nlohmann/json.hpp>
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace trainx::equality {
namespace {

constexpr double limit_s = 600;  // of one command; a hang is a failure

std::string command_of(const std::vector<std::string>& words) {
  std::string text = "trainx";
  for (const std::string& word : words) text += " '" + word + "'";
  return text;
}

std::string said(const Ended& end) { return end.out + "\n" + end.err; }

/// Sentences of the error event: its problems with their keys, and the lines of its message.
std::vector<std::string> sentences_of(const Ended& end) {
  std::istringstream lines(end.out);
  std::vector<std::string> found;
  for (std::string line; std::getline(lines, line);) {
    const auto event = nlohmann::json::parse(line, nullptr, false);
    if (event.is_discarded() || event.value("event", "") != "error") continue;
    for (const auto& problem : event.value("problems", nlohmann::json::array()))
      found.push_back(problem.value("key", "") + ": " + problem.value("message", ""));
    std::istringstream message(event.value("message", ""));
    for (std::string part; std::getline(message, part);) found.push_back(part);
  }
  return found;
}

/// Whether `word` is a key, a file or a number in `text`, not as a part of another word.
bool names(const std::string& text, const std::string& word) {
  const auto part_of_word = [&](std::size_t at) {
    return at < text.size() && (std::isalnum(static_cast<unsigned char>(text[at])) != 0 ||
                                text[at] == '-' || text[at] == '_');
  };
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1))
    if ((at == 0 || (!part_of_word(at - 1) && text[at - 1] != '.')) &&
        !part_of_word(at + word.size()))
      return true;
  return false;
}

}  // namespace

std::string Runs::new_run(const std::string& recipe) {
  std::string run = "run";
  run += std::to_string(runs_++);
  std::ofstream(folder_ + "/" + run + ".yaml") << recipe;
  return run;
}

std::vector<std::string> Runs::words(const std::string& command, const std::string& run,
                                     const Settings& settings) const {
  std::vector<std::string> all{command, run + ".yaml", "run.seed=" + std::to_string(seed_)};
  all.insert(all.end(), settings.begin(), settings.end());
  all.insert(all.end(), {"run.name=" + run, "--json"});
  return all;
}

void Runs::train_stage(const std::string& run, const Settings& settings, int ends) {
  const auto all = words("train", run, settings);
  ++started_;
  const Ended end = run_command(folder_, all, limit_s);
  if (end.code != ends)
    throw std::runtime_error(command_of(all) + " ended with " + std::to_string(end.code) + "\n" +
                             said(end));
}

Results Runs::train(const std::string& recipe, const Stages& stages, int ends) {
  const std::string run = new_run(recipe);
  for (std::size_t i = 0; i < stages.size(); ++i)
    train_stage(run, stages[i], i + 1 == stages.size() ? ends : 0);
  Results results = read_results(folder_ + "/outputs/" + run);
  std::filesystem::remove_all(folder_ + "/outputs/" + run);
  return results;
}

const Results& Runs::base(const std::string& recipe, const Stages& stages, int ends) {
  const std::pair key{recipe, stages};
  if (const auto found = bases_.find(key); found != bases_.end()) return found->second;
  return bases_.emplace(key, train(recipe, stages, ends)).first->second;
}

double Runs::planned_bytes(const std::string& recipe, const Settings& settings) {
  const auto all = words("plan", new_run(recipe), settings);
  ++started_;
  const Ended end = run_command(folder_, all, limit_s);
  if (end.code != 0)
    throw std::runtime_error(command_of(all) + " ended with " + std::to_string(end.code) + "\n" +
                             said(end));
  return nlohmann::json::parse(end.out).at("total_bytes").get<double>();
}

std::string Runs::refusal(const std::string& recipe, const Stages& stages,
                          const Relation& relation) {
  const std::string run = new_run(recipe);
  for (std::size_t i = 0; i + 1 < stages.size(); ++i) train_stage(run, stages[i]);
  const auto all = words("train", run, stages.back());
  ++started_;
  const Ended end = run_command(folder_, all, limit_s);
  if (end.code != *relation.refused)
    return command_of(all) + " ended with " + std::to_string(end.code) + ", not " +
           std::to_string(*relation.refused) + "\n" + said(end);
  const auto sentences = sentences_of(end);
  const auto names_all = [&](const std::string& text) {
    return std::ranges::all_of(relation.names,
                               [&](const std::string& word) { return names(text, word); });
  };
  if (!relation.names.empty() && std::ranges::none_of(sentences, names_all))
    return command_of(all) + " names not all of it in one sentence\n" + said(end);
  if (*relation.refused == 78 && stages.size() == 1 &&
      std::filesystem::exists(folder_ + "/outputs/" + run))
    return command_of(all) + " left a folder";
  return {};
}

}  // namespace trainx::equality
