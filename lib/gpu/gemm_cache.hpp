// Choices of algorithms on disk: {"<GPU>, cuBLASLt <version>": {"<problem>": {"algorithm": [8
// numbers], "workspace_bytes": .., ...}}}.
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace trainx::gpu {

/// cuBLASLt's cublasLtMatmulAlgo_t: opaque, valid for one version of the library.
using AlgorithmBits = std::array<std::uint64_t, 8>;

struct GemmChoice {
  AlgorithmBits algorithm{};
  std::int64_t workspace_bytes = 0;
  double heuristic_ms = 0, chosen_ms = 0;  // sustained; 0 where nothing was measured
  int candidates = 0;
};
using GemmChoices = std::map<std::string, GemmChoice>;

nlohmann::json to_json(const GemmChoices& choices);
/// Entries that are not of this form are left out.
GemmChoices choices_from(const nlohmann::json& json);

/// What the file holds for `machine` ("<GPU>, cuBLASLt <version>"); nothing where the file is
/// missing or is not JSON.
GemmChoices load_choices(const std::string& path, const std::string& machine);
/// Adds to what the file holds now, under the machine; the rest stays. The file is replaced whole.
/// Throws UserError 73 or 74.
void add_choices(const std::string& path, const std::string& machine, const GemmChoices& choices);

}  // namespace trainx::gpu
