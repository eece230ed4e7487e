// Memory of a GPU for code of the user's own: modules, and the rule of an optimizer.
#pragma once
#include "core/units.hpp"
#include "operations/module/module_memory_cuda.hpp"
#include "gpu/gpu_error.hpp"
#include <cstdint>

namespace trainx::execute {

/// Two pieces of the plan, which do not grow: what a rule allocates lies in its own.
class OwnCodeMemory final : public operations::cuda::TorchMemory {
 public:
  struct Piece {
    void* memory = nullptr;
    std::int64_t bytes = 0;
  };
  OwnCodeMemory(Piece modules, Piece rule)
      : modules_(modules.memory, modules.bytes), rule_(rule.memory, rule.bytes) {}

  /// While one lives, what is allocated is the rule's.
  class RuleRuns {
   public:
    explicit RuleRuns(OwnCodeMemory& memory) : memory_(memory) { memory_.rule_runs_ = true; }
    ~RuleRuns() { memory_.rule_runs_ = false; }
    RuleRuns(const RuleRuns&) = delete;

   private:
    OwnCodeMemory& memory_;
  };

  void* take(std::int64_t bytes) override {
    if (!rule_runs_) return modules_.take(bytes);
    if (void* const block = rule_.take(bytes)) return block;
    throw gpu::GpuError(ExitCode::out_of_memory,
                        "the optimizer's rule asks for " + human_bytes(bytes) + " beside the " +
                            human_bytes(rule_.used_bytes()) +
                            " that it holds on the GPU, which is more than was planned for it; a "
                            "rule must take the same memory in each call, and keep none of it");
  }
  void give(void* block) override {
    modules_.give(block);
    rule_.give(block);
  }
  std::int64_t used_bytes() const override { return modules_.used_bytes(); }

 private:
  operations::cuda::PlannedModuleMemory modules_, rule_;
  bool rule_runs_ = false;
};

}  // namespace trainx::execute
