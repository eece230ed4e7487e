#include "gpu/attention_workspace.hpp"
#include "core/error.hpp"
#include "kernels/attention/score_biases.hpp"

namespace trainx::gpu {

namespace {

/// Parts of a workspace, each from a multiple of 256 bytes on. Without memory it counts alone.
class Carver {
 public:
  explicit Carver(void* memory = nullptr) : memory_(static_cast<char*>(memory)) {}
  template <class T>
  T* take(std::int64_t elements) {
    T* const at = memory_ ? reinterpret_cast<T*>(memory_ + bytes_) : nullptr;
    bytes_ += (elements * static_cast<std::int64_t>(sizeof(T)) + 255) / 256 * 256;
    return at;
  }
  std::int64_t bytes() const { return bytes_; }

 private:
  char* memory_;
  std::int64_t bytes_ = 0;
};

Scratch carve(Carver& carver, const AttentionProblem& p, bool backward) {
  Scratch s;
  if (backward) {
    s.delta = carver.take<float>(p.batch * p.heads * p.tokens);
    s.ends = carver.take<std::int32_t>(p.documents ? p.batch * p.tokens : 0);
  }
  if (!p.biased) return s;
  const std::int64_t distances = 2 * p.tokens - 1;
  s.by_distance = carver.take<float>(p.heads * distances);
  s.buckets = carver.take<std::int32_t>(distances);
  s.sinks = carver.take<float>(p.heads);
  if (backward)
    s.d_buckets = carver.take<float>(kernels::bias_gradient_floats(p.batch, p.tokens, p.heads));
  return s;
}

Sinks carve_sinks(Carver& carver, const AttentionProblem& p, bool backward) {
  Sinks s;
  if (!p.sinks_alone) return s;
  s.sinks = carver.take<float>(p.heads);
  if (backward) s.delta = carver.take<float>(p.batch * p.heads * p.tokens);
  return s;
}

Widened widen(Carver& carver, AttentionProblem p, bool backward) {
  const std::int64_t rows = p.batch * p.tokens, element = size_of(p.dtype);
  p.value_size = 0;
  const std::int64_t packed = rows * p.row() * element,
                     result = rows * p.heads * p.head_size * element;
  Widened w{p};
  w.qkv = carver.take<char>(packed);
  w.out = carver.take<char>(result);
  if (!backward) return w;
  w.d_out = carver.take<char>(result);
  w.d_qkv = carver.take<char>(packed);
  return w;
}

template <class Carve>
std::int64_t bytes_of(Carve carve, const AttentionProblem& p, bool backward) {
  Carver carver;
  carve(carver, p, backward);
  return carver.bytes();
}

/// What is left of a workspace behind its first `bytes`.
StreamSpace behind(std::int64_t bytes, const AttentionProblem& p, StreamSpace space) {
  if (space.workspace_bytes < bytes)
    throw InternalError("attention " + describe(p) + " needs a workspace of " +
                        std::to_string(bytes) + " bytes, not " +
                        std::to_string(space.workspace_bytes));
  space.workspace = static_cast<char*>(space.workspace) + bytes;
  space.workspace_bytes -= bytes;
  return space;
}

}  // namespace

std::int64_t scratch_bytes(const AttentionProblem& p, bool backward) {
  return bytes_of(carve, p, backward);
}
Scratch scratch_of(const AttentionProblem& p, const StreamSpace& space, bool backward) {
  behind(scratch_bytes(p, backward), p, space);
  Carver carver(space.workspace);
  return carve(carver, p, backward);
}

std::int64_t sink_bytes(const AttentionProblem& p, bool backward) {
  return bytes_of(carve_sinks, p, backward);
}
Sinks sinks_of(const AttentionProblem& p, const StreamSpace& space, bool backward) {
  Carver carver(space.workspace);
  Sinks s = carve_sinks(carver, p, backward);
  s.space = behind(carver.bytes(), p, space);
  return s;
}

std::int64_t widened_bytes(const AttentionProblem& p, bool backward) {
  return bytes_of(widen, p, backward);
}
Widened widened_in(const AttentionProblem& p, const StreamSpace& space, bool backward) {
  Carver carver(space.workspace);
  Widened w = widen(carver, p, backward);
  w.space = behind(carver.bytes(), p, space);
  return w;
}

}  // namespace trainx::gpu
