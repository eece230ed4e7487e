// Optimizers of the user's own on a GPU: memory, times, and what is told of them.
#pragma once
#include "plan/programs.hpp"
#include "program/model_graph.hpp"
#include <cstdint>

namespace trainx::plan {

/// Where the memory of rules begins is a multiple of it, and where a tensor of staged elements
/// does of the second.
constexpr std::int64_t own_rule_alignment = 512, staged_alignment = 256;

/// What updates by a rule of the user's own take on a GPU: a rule is given some of the weights
/// after the other, in memory beside the arena. All zero where there is no such rule.
struct OwnRuleMemory {
  std::int64_t elements = 0;      // that the rule is given at most
  std::int64_t staged_bytes = 0;  // of those: weights, gradients, states, and the step's numbers
  std::int64_t rule_bytes = 0;    // for what a rule that computes with tensors allocates
  std::int64_t total() const {
    return elements > 0 ? own_rule_alignment + rule_bytes + staged_bytes : 0;
  }
};

/// Of programs of a rank; all zero where they update nothing.
OwnRuleMemory own_rule_memory(const Draft& plan, const Programs& programs);

/// Why a CUDA graph cannot hold the rule; empty: it can, or there is none.
std::string own_rule_not_captured(const Draft& plan);

/// Of an element, as far as it is known: what updates on the GPU take beyond reading and writing
/// once.
double own_rule_element_s(const Draft& plan, const program::Rates& rates);

/// How updates on the GPU are computed, and what of their time is not known; empty: nothing to say.
std::string own_rule_note(const Draft& plan);

}  // namespace trainx::plan
