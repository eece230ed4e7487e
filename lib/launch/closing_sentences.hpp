// The sentences that workers end with ("trainx: ..."), told once where several ranks have the same
// to say.
#pragma once
#include <chrono>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace trainx::launch {

/// "[rank 2] ", "[ranks 1-3,7] "
std::string rank_prefix(const std::set<int>& ranks);
/// Without a terminal's colours.
std::string without_colors(std::string_view text);

class ClosingSentences {
 public:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr auto kept_for = std::chrono::seconds(1);  // for other ranks to say the same

  /// Keeps the line where it begins a rank's closing sentence or goes on with one that is kept.
  bool keep(int rank, std::string_view line, Time now);
  /// A line that is on the screen already.
  void told(std::string_view line) { told_.insert(without_colors(line) + "\n"); }
  /// When what is kept is to be told; Time::max() where nothing is.
  Time due() const { return kept_.empty() ? Time::max() : since_ + kept_for; }
  /// What is kept, lines with prefixes, each sentence once and none that was told before.
  std::vector<std::string> release();

 private:
  std::map<int, std::string> kept_;  // by rank: lines, each with its end
  std::set<std::string> told_;       // without colours
  Time since_;                       // the first of kept_
};

}  // namespace trainx::launch
