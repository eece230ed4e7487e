// How attention (attention.cpp) cuts its workspace. Each part has the bytes that it takes, and its
// addresses in a workspace; those throw InternalError where that is too small.
#pragma once
#include "gpu/attention.hpp"
#include <cstdint>

namespace trainx::gpu {

/// What trainx's kernels work in.
struct Scratch {
  float* delta = nullptr;           // [B, H, T], of backward
  std::int32_t* ends = nullptr;     // [B, T], of backward inside documents
  float* by_distance = nullptr;     // [H, 2 T - 1], of a biased problem
  std::int32_t* buckets = nullptr;  // [2 T - 1]
  float* sinks = nullptr;           // [H]
  float* d_buckets = nullptr;       // of its backward
};
std::int64_t scratch_bytes(const AttentionProblem& p, bool backward);
Scratch scratch_of(const AttentionProblem& p, const StreamSpace& space, bool backward);

/// What sinks of kernels for Hopper take of a workspace, and what is left of it.
struct Sinks {
  float* sinks = nullptr;  // [H]
  float* delta = nullptr;  // [B, H, T], of backward
  StreamSpace space = {};
};
std::int64_t sink_bytes(const AttentionProblem& p, bool backward);
Sinks sinks_of(const AttentionProblem& p, const StreamSpace& space, bool backward);

/// A problem whose values are narrower than heads, with values that are not: [B, T, H + 2 K, D].
struct Widened {
  AttentionProblem problem;
  void *qkv = nullptr, *out = nullptr, *d_out = nullptr, *d_qkv = nullptr;
  StreamSpace space = {};  // what is left of it
};
std::int64_t widened_bytes(const AttentionProblem& p, bool backward);
Widened widened_in(const AttentionProblem& p, const StreamSpace& space, bool backward);

}  // namespace trainx::gpu
