// Files of tests/data/measured, which real machines gave. Paths are relative to that folder.
#pragma once
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>
#include "core/files.hpp"
#include "support/source_dir.hpp"

inline std::string measured_text(const std::string& path) {
  return trainx::read_file(source_dir() + "/tests/data/measured/" + path);
}

inline nlohmann::json measured(const std::string& path) {
  return nlohmann::json::parse(measured_text(path));
}

/// One value for each line of a .jsonl file.
inline std::vector<nlohmann::json> measured_rows(const std::string& path) {
  std::vector<nlohmann::json> rows;
  std::istringstream lines(measured_text(path));
  for (std::string line; std::getline(lines, line);) rows.push_back(nlohmann::json::parse(line));
  return rows;
}

/// The run of trainx in that row of a file that `bench/condense steps` wrote.
inline nlohmann::json measured_step(const std::string& path, const std::string& row) {
  for (const nlohmann::json& step : measured_rows(path))
    if (step.at("row") == row) return step;
  throw std::runtime_error(path + " has no row " + row);
}
