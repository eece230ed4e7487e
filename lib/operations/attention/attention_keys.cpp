#include "operations/attention/attention_keys.hpp"
#include "core/error.hpp"
#include <algorithm>
#include <string>

namespace trainx::operations {

KeyRange AttentionKeys::of(std::int64_t sample, std::int64_t query) const {
  const std::int64_t own = past() + query;
  KeyRange seen{0, own + 1};
  if (a_.window > 0) seen.from = std::max<std::int64_t>(0, own - a_.window + 1);
  if (!seen_.defined()) return seen;
  const auto* const seen_by = seen_.as<const std::int32_t>();
  if (a_.mask == AttentionMask::lengths) {
    const std::int64_t length = seen_by[sample];
    if (length < 0 || length > keys_)
      throw InternalError("attention: a length of " + std::to_string(length) + " in rows of " +
                          std::to_string(keys_));
    return {0, query < length ? length : 0};
  }
  const std::int32_t start = seen_by[sample * queries_ + query];
  seen.from = std::max<std::int64_t>(seen.from, start);
  if (start < 0) seen.to = seen.from;  // padding sees nothing
  return seen;
}

KeyRange AttentionKeys::of(std::int64_t sample, std::int64_t begin, std::int64_t end) const {
  KeyRange all{keys_, 0};
  for (std::int64_t q = begin; q < end; ++q) {
    const KeyRange one = of(sample, q);
    if (one.size() == 0) continue;
    all.from = std::min(all.from, one.from);
    all.to = std::max(all.to, one.to);
  }
  return all.from < all.to ? all : KeyRange{0, 1};
}

}  // namespace trainx::operations
