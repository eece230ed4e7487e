// Memory: recomputation, and what is kept away from the device.
#include "recipe/rule_set.hpp"
#include <algorithm>

namespace trainx::recipe {
namespace {

class MemoryRules : public RuleSet {
 public:
  using RuleSet::RuleSet;

  void check() {
    const auto& levels = r_.memory.activation_checkpoint.value;
    refuse(r_.memory.recompute_segment > 1 && levels &&
               !std::ranges::count(*levels, RecomputeLevel::full),
           "memory.recompute_segment", {"memory.activation_checkpoint"},
           "can have no effect without layers whose memory.activation_checkpoint is full");
    const bool exact_elsewhere =
        (r_.precision.compute == Compute::bf16 || r_.precision.compute == Compute::fp16) &&
        !(!r_.precision.master.is_auto() && *r_.precision.master.value == MasterWeights::none);
    const bool keeps_states =
        std::visit([](const auto& o) { return !options::states(o).empty(); }, r_.optimizer.options);
    refuse(r_.memory.optimizer_offload.where != OptimizerOffload::none && !keeps_states &&
               !exact_elsewhere,
           "memory.optimizer_offload.where",
           {"optimizer.type", "optimizer.options", "precision.compute", "precision.master"},
           "can have no effect: " + alternative_name(r_.optimizer.options) +
               " as written keeps nothing beside the weights that blocks compute with; write none");
    optimizer_offload();
    const bool held = mode_is(ParallelMode::dp) || mode_is(ParallelMode::zero1) ||
                      mode_is(ParallelMode::zero2);
    refuse(r_.memory.parameter_offload != ParameterOffload::none && held,
           "memory.parameter_offload", {"parallel.mode"},
           "frees nothing with parallel.mode: " +
               (held ? write_value(*r_.parallel.mode.value) : std::string()) +
               ", which has all weights on the GPU for the whole step: write zero3 or ddp, or "
               "leave parameter_offload out");
    refuse(r_.memory.release_cache_every && r_.memory.release_cache_every->amount <= 0,
           "memory.release_cache_every", {}, "must be greater than 0 (did you mean null?)");
    refuse(!r_.memory.budget.is_auto() && r_.memory.budget.value->bytes == 0, "memory.budget", {},
           "must be greater than 0");
  }

 private:
  void optimizer_offload() {
    const OptimizerOffloadSection& o = r_.memory.optimizer_offload;
    const std::string path = "memory.optimizer_offload.", where = path + "where";
    const bool on_disk = uses_disk(r_.memory);
    const auto only_with = [&](bool is_set, const char* key, const std::string& what) {
      refuse(is_set, path + key, {where}, "can have no effect without where: " + what);
    };
    only_with(o.where == OptimizerOffload::none && o.gradients != OffloadedGradients::fp32,
              "gradients", "cpu, disk or cpu+disk");
    only_with(o.where == OptimizerOffload::none && (o.share.is_auto() || *o.share.value != 0),
              "share", "cpu, disk or cpu+disk");
    only_with(!on_disk && o.folder, "folder",
              "disk or cpu+disk, or memory.parameter_offload: disk");
    only_with(!on_disk && o.read_ahead != OptimizerOffloadSection{}.read_ahead, "read_ahead",
              "disk or cpu+disk, or memory.parameter_offload: disk");
    only_with(o.where != OptimizerOffload::cpu_disk && !o.host_budget.is_auto(), "host_budget",
              "cpu+disk, which puts on the disk what is beyond it");
    refuse(o.where != OptimizerOffload::none && !o.share.is_auto() && *o.share.value == 1,
           path + "share", {where}, "1 leaves all of the optimizer on the GPU: write where: none");
    refuse(o.folder && o.folder->empty(), path + "folder", {},
           "must not be empty (did you mean null?)");
    refuse(!o.host_budget.is_auto() && o.host_budget.value->bytes == 0, path + "host_budget", {},
           "must be greater than 0");
    const bool of_optimizer = uses_disk(o.where);
    refuse(on_disk && r_.checkpoint.asynchronous.value.value_or(false), "checkpoint.asynchronous",
           {of_optimizer ? where : "memory.parameter_offload"},
           "cannot go together with " +
               (of_optimizer ? where + ": " + write_value(o.where)
                             : "memory.parameter_offload: disk") +
               ": memory has no room for a copy of what is on the disk; write false or auto");
  }
};

}  // namespace

void check_memory_rules(const RuleContext& context) { MemoryRules(context).check(); }

}  // namespace trainx::recipe
