#include "architectures/own_head.hpp"

namespace trainx::architectures {

bool has_partable_head(const ModelDims& dims) {
  if (const auto* d = std::get_if<DecoderDims>(&dims)) return d->tied;
  if (const auto* d = std::get_if<Gpt2Dims>(&dims)) return d->tied;
  return false;
}

void part_head(ModelDims& dims) {
  if (auto* d = std::get_if<DecoderDims>(&dims)) d->tied = false;
  if (auto* d = std::get_if<Gpt2Dims>(&dims)) d->tied = false;
}

HeadAndTable own_head(const ModelDims& dims) {
  const auto* decoder = std::get_if<DecoderDims>(&dims);
  if (decoder && !decoder->tied)
    return {decoder->names.head + ".weight", decoder->names.embedding + ".weight"};
  const auto* gpt2 = std::get_if<Gpt2Dims>(&dims);
  if (gpt2 && !gpt2->tied) return {"lm_head.weight", "wte.weight"};
  return {};
}

}  // namespace trainx::architectures
