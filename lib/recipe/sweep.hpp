// The grid of a sweep: settings with several values, their product, a name for each run.
#pragma once
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace trainx::recipe {

/// A setting with all of its values, as written: {"optimizer.lr", {"1e-3", "3e-4"}}.
struct SweptKey {
  std::string key;
  std::vector<std::string> values;
};

/// One run of a sweep.
struct SweepRun {
  std::string suffix;                                       // of run.name: "-lr-1e-3-seed-1"
  std::vector<std::pair<std::string, std::string>> values;  // key and value, in the order written
};

/// Splits key=a,b,c at commas outside of quotes, brackets and braces. `setting` holds a '='.
SweptKey split_values(const std::string& setting);

/// All combinations, the last key fastest. Suffixes name keys by their last word where it tells
/// them apart. Throws UserError 2: more than `most` runs, an empty value, a key or a name given
/// twice.
std::vector<SweepRun> sweep_runs(const std::vector<SweptKey>& keys, std::size_t most);

}  // namespace trainx::recipe
