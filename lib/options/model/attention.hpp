// What each kind of attention can compute.
#pragma once
#include "core/attention_kind.hpp"
#include "core/dtype.hpp"
#include "options/field.hpp"
#include <cstdint>
#include <string>

namespace trainx {

inline const EnumNames<AttentionKind>& enum_names(AttentionKind) {
  static const EnumNames<AttentionKind> names{{AttentionKind::automatic, "auto"},
                                              {AttentionKind::cudnn, "cudnn"},
                                              {AttentionKind::flash, "flash"},
                                              {AttentionKind::efficient, "efficient"},
                                              {AttentionKind::math, "math"}};
  return names;
}

}  // namespace trainx

namespace trainx::options {

/// Only a GPU has it.
constexpr bool needs_gpu(AttentionKind kind) {
  return kind == AttentionKind::cudnn || kind == AttentionKind::efficient;
}

/// Why a GPU cannot compute attention of this kind, as the rest of a sentence that begins with its
/// name; "" where it can. `head_size` 0: not known yet; `length`: the fewest tokens of a row;
/// `packed`: rows hold several documents, which it keeps apart.
std::string unfit_attention(AttentionKind kind, DType compute, std::int64_t head_size,
                            std::int64_t length, bool packed = false);

}  // namespace trainx::options
