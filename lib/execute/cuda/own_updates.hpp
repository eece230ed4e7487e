// Updates on a GPU by a rule of the user's own.
#pragma once
#include "gpu/resources.hpp"
#include "kernels/optimizer/own_stage.hpp"
#include "optim/optimizer.hpp"
#include "optim/own_rule.hpp"
#include "plan/own_rule.hpp"
#include "execute/cuda/device_tables.hpp"
#include "execute/cuda/own_code_memory.hpp"
#include <functional>
#include <memory>
#include <vector>

namespace trainx::execute {

/// Where rules run: the memory that elements are laid out in, and what failed there.
class OwnRules {
 public:
  /// `staged`: planned.staged_bytes of the GPU. `torch`, `memory`: what LibTorch's operators of a
  /// rule that computes with tensors run on and allocate from; null for one over numbers. `memory`
  /// is null as well where they share attention's workspace. All outlive this.
  OwnRules(const options::OwnOptimizerOptions& options, const plan::OwnRuleMemory& planned,
           std::byte* staged, operations::cuda::TorchCuda* torch, OwnCodeMemory* memory);

  const plan::OwnRuleMemory& planned() const { return planned_; }
  std::byte* staged() const { return staged_; }
  /// The same bytes of the host, pinned; null for a rule that computes with tensors.
  std::byte* on_host() const { return on_host_.as<std::byte>(); }
  std::int64_t* fault() const { return fault_.as<std::int64_t>(); }

  /// Lets operators that f calls go to the GPU's stream, with the rule's memory.
  void run(const std::string& doing, const std::function<void()>& f) const;
  /// Throws UserError 80 where what a rule made was not finite in a step that is done.
  void require_finite() const;

 private:
  optim::OwnRule rule_;  // of the recipe's options: its words
  plan::OwnRuleMemory planned_;
  std::byte* staged_;
  operations::cuda::TorchCuda* torch_;
  OwnCodeMemory* memory_;
  gpu::PinnedMemory on_host_, fault_;
};

/// Runs work on the host unless work there has failed before; keeps what it throws.
using OnHost = std::function<void(const std::function<void()>&)>;

/// What updates of groups that are trained alike launch.
struct OwnUpdate {
  kernels::WeightKind kind{};
  kernels::UpdateScalars scalars;
  kernels::ScaleSettings scale;
  std::vector<optim::GroupMemory> groups;
};
/// One flat range after the other is laid out, given to the rule and put back. `rules` and what
/// `on_host` refers to outlive it.
std::function<cudaError_t(cudaStream_t)> own_update_start(const OwnUpdate& update,
                                                          const options::OwnOptimizerOptions& o,
                                                          DeviceTables& tables,
                                                          const OwnRules& rules, OnHost on_host);

}  // namespace trainx::execute
