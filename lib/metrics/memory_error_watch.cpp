#include "metrics/memory_error_watch.hpp"

namespace trainx::metrics {

std::vector<std::string> MemoryErrorWatch::news(const MemoryErrors& now) {
  std::vector<std::string> sentences;
  MemoryErrors changed = now;
  if (!begun_) {
    begun_ = true;
    begin_ = now;
  } else {
    const std::int64_t rise = now.uncorrected.value_or(0) - last_.uncorrected.value_or(0);
    if (now.uncorrected && last_.uncorrected && rise > 0)
      sentences.push_back(gpu_ + " had " + std::to_string(rise) + " memory error" +
                          (rise == 1 ? "" : "s") +
                          " that ECC could not correct during the run; if the run fails, see what "
                          "`trainx doctor` recommends, then run the same command again, which goes "
                          "on from the last checkpoint");
    changed.uncorrected.reset();
    const auto forget_known = [](std::optional<bool>& flag, const std::optional<bool>& known) {
      if (known.value_or(false)) flag.reset();
    };
    forget_known(changed.row_remap_failed, last_.row_remap_failed);
    forget_known(changed.row_remap_pending, last_.row_remap_pending);
    forget_known(changed.page_retirement_pending, last_.page_retirement_pending);
  }
  for (const MemoryAdvice& advice : advice_on(changed, gpu_))
    sentences.push_back(advice.problem + ": " + advice.remedy);
  last_ = now;
  return sentences;
}

}  // namespace trainx::metrics
