#include "data/labelled/bad_lines.hpp"
#include <algorithm>

namespace trainx::data::labelled {

void BadLines::add(std::int64_t index, const UserError& refusal) {
  const std::lock_guard lock(mutex_);
  lines_.emplace_back(index, refusal.what());
}

void BadLines::throw_first() const {
  constexpr std::size_t most_listed = 5;
  if (lines_.empty()) return;
  auto sorted = lines_;
  std::ranges::sort(sorted);
  const std::size_t listed = std::min(sorted.size(), most_listed);
  std::string all;
  for (std::size_t i = 0; i < listed; ++i) all += (i > 0 ? "\n" : "") + sorted[i].second;
  if (sorted.size() > listed)
    all += "\nand at least " + std::to_string(sorted.size() - listed) + " lines more of that file";
  throw UserError(ExitCode::bad_data, all);
}

}  // namespace trainx::data::labelled
