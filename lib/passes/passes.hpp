// All passes and their one canonical order. Each is a pure function StepProgram -> StepProgram in a file of its own; it edits only `steady`,
// as one step in legal sequential order. Another order of passes throws InternalError.
#pragma once
#include "program/model_graph.hpp"

namespace trainx::passes {

using program::ModelGraph;
using program::StepProgram;

/// Repeats forward..backward for each of `micro_steps`; who overwrites and who accumulates follows from the order of writers.
StepProgram accumulation(StepProgram p, int micro_steps);

enum class CheckpointLevel : std::uint8_t { none, selective, full };
/// selective: saved operands marked cheap are recomputed just before backward; full: a layer keeps only what its forward begins with.
/// What is dropped becomes scratch of the forward; what the recomputation takes follows from SlotSpec::from.
StepProgram activation_checkpoint(StepProgram p, const ModelGraph& graph, CheckpointLevel level);

}  // namespace trainx::passes
