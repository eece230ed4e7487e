// What a run left behind, as numbers and bytes.
#pragma once
#include "core/dtype.hpp"
#include <map>
#include <string>
#include <vector>

namespace trainx::equality {

struct SavedTensor {
  DType dtype = DType::f32;
  std::vector<std::int64_t> dims;
  std::string bytes;
  bool operator==(const SavedTensor&) const = default;
};

struct Results {
  // each key of metrics.jsonl, by line; NaN where a value is no number
  std::map<std::string, std::vector<double>> metrics;
  // of the newest checkpoint, by file ("model", "optimizer") and name
  std::map<std::string, std::map<std::string, SavedTensor>> tensors;
  // of its trainer_state.json: values as JSON; "checkpoints": files and hashes of every checkpoint
  std::map<std::string, std::string> state;
};

/// Reads outputs/NAME. Throws UserError if the run left no metrics, or a file that cannot be read.
Results read_results(const std::string& run_folder);

}  // namespace trainx::equality
