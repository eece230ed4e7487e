#include "core/memory_errors.hpp"

namespace trainx {

std::vector<MemoryAdvice> advice_on(const MemoryErrors& errors, const std::string& gpu) {
  std::vector<MemoryAdvice> advice;
  if (const std::int64_t count = errors.uncorrected.value_or(0); count > 0)
    advice.push_back(
        {gpu + " had " + std::to_string(count) + " memory error" + (count == 1 ? "" : "s") +
             " that ECC could not correct",
         "drain it and reset it (nvidia-smi -r), and have it replaced if they come again"});
  if (errors.row_remap_failed.value_or(false))
    advice.push_back({gpu + " has no spare memory rows left for broken ones", "have it replaced"});
  else if (errors.row_remap_pending.value_or(false))
    advice.push_back({gpu + " waits for a reset to replace a broken memory row",
                      "end what uses it and reset it (nvidia-smi -r, as root)"});
  if (errors.page_retirement_pending.value_or(false))
    advice.push_back({gpu + " waits for a reset to take a broken memory page out of use",
                      "end what uses it and reset it (nvidia-smi -r, as root)"});
  return advice;
}

}  // namespace trainx
