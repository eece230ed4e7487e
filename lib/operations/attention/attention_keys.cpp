#include "operations/attention/attention_keys.hpp"
#include "core/error.hpp"
#include <algorithm>
#include <string>

namespace trainx::operations {

AttentionKeys::AttentionKeys(const Attention& a, std::int64_t queries, std::int64_t keys,
                             const Tensor& seen)
    : a_(a),
      queries_(queries),
      keys_(keys),
      past_(a.memory_length > 0 ? 0 : keys - queries),
      before_(a.window > 0 ? a.window - 1 : queries + keys),
      after_(a.mask == AttentionMask::lengths ? before_ : 0),
      seen_(seen) {
  if (a.memory_length > 0 && (a.mask != AttentionMask::lengths || a.window > 0))
    throw InternalError("attention to a memory has no order, documents or windows");
}

std::int64_t AttentionKeys::length_of(std::int64_t sample) const {
  const std::int64_t length = seen_.as<const std::int32_t>()[sample];
  if (length < 0 || length > keys_)
    throw InternalError("attention: a length of " + std::to_string(length) + " in rows of " +
                        std::to_string(keys_));
  return length;
}

KeyRange AttentionKeys::of(std::int64_t sample, std::int64_t query) const {
  const std::int64_t own = past_ + query;
  KeyRange seen{std::max<std::int64_t>(0, own - before_), std::min(keys_, own + after_ + 1)};
  if (!seen_.defined()) return seen;
  if (a_.mask == AttentionMask::lengths) {
    const std::int64_t length = length_of(sample);
    if (a_.memory_length == 0 && query >= length) return {};  // padding sees nothing
    return {seen.from, std::min(seen.to, length)};
  }
  const std::int32_t start = seen_.as<const std::int32_t>()[sample * queries_ + query];
  if (start < 0) return {};
  return {std::clamp<std::int64_t>(start, seen.from, seen.to), seen.to};
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
