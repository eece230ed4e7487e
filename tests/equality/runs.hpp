// Runs of one process, each trained once.
#pragma once
#include "equality/case_file.hpp"
#include "equality/command.hpp"
#include "equality/results.hpp"
#include <cstdint>
#include <map>
#include <utility>

namespace trainx::equality {

/// Trains recipes in one folder, and keeps what runs left that others are compared with.
class Runs {
 public:
  /// `folder` holds what recipes name; `seed`: of all runs.
  Runs(std::string folder, std::uint64_t seed) : folder_(std::move(folder)), seed_(seed) {}

  /// What the stages leave, trained now or earlier by this process. Throws std::runtime_error with
  /// the command and what it said if a stage does not end with 0, and the last one with `ends`.
  const Results& base(const std::string& recipe, const Stages& stages, int ends);
  /// Trains the stages.
  Results train(const std::string& recipe, const Stages& stages, int ends);
  /// The last stage is refused: what is not as the relation says, empty if all of it is.
  std::string refusal(const std::string& recipe, const Stages& stages, const Relation& relation);

  /// Bytes that `trainx plan` says for a recipe with settings.
  double planned_bytes(const std::string& recipe, const Settings& settings);

  int started() const { return started_; }  // commands

 private:
  std::string new_run(const std::string& recipe);
  std::vector<std::string> words(const std::string& command, const std::string& run,
                                 const Settings& settings) const;
  void train_stage(const std::string& run, const Settings& settings, int ends = 0);

  std::string folder_;
  std::uint64_t seed_;
  std::map<std::pair<std::string, Stages>, Results> bases_;
  int started_ = 0, runs_ = 0;
};

}  // namespace trainx::equality
