#include "options/model/attention.hpp"

namespace trainx::options {
namespace {

std::string heads(std::int64_t head_size, std::int64_t multiple, std::int64_t most,
                  const std::string& instead) {
  if (head_size % multiple == 0 && (most == 0 || head_size <= most)) return "";
  return "takes heads of a multiple of " + std::to_string(multiple) + " elements" +
         (most ? ", " + std::to_string(most) + " at most" : "") + ", and this model's have " +
         std::to_string(head_size) + " (hidden_size / num_heads): write " + instead;
}

}  // namespace

std::string unfit_attention(AttentionKind kind, DType compute, std::int64_t head_size,
                            std::int64_t length, bool packed) {
  const bool low = size_of(compute) == 2;
  if (packed && kind != AttentionKind::automatic && kind != AttentionKind::math)
    return "cannot keep the documents of a row apart on a GPU, which data.packed asks for: write "
           "auto or math, or leave data.packed out";
  if (!low && (kind == AttentionKind::cudnn || kind == AttentionKind::flash))
    return "computes in 16 bits on a GPU, which precision.compute does not: write auto, efficient "
           "or math, or precision.compute bf16 or fp16";
  if (kind == AttentionKind::cudnn && length < 2)
    return "needs rows of 2 tokens, and some have 1: write auto";
  if (kind == AttentionKind::cudnn) return heads(head_size, 8, 128, "auto, flash or math");
  if (kind == AttentionKind::flash) return heads(head_size, 8, 256, "auto or math");
  if (kind == AttentionKind::efficient) return heads(head_size, low ? 8 : 4, 0, "auto or math");
  return "";
}

}  // namespace trainx::options
