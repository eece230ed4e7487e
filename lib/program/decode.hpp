#pragma once
#include "program/model_graph.hpp"

namespace trainx::program {

/// Forward of every block and predict of the last, for the tokens of one sample that follow on
/// those whose keys and values are cached. Its first buffers are the caches, resident, of
/// `capacity` tokens each, and what an encoder made, which is there from its blocks on. Parameters
/// are no buffers of it, and neither is what the host reads: positions, targets and the copy of the
/// logits. The head computes one row.
StepProgram decode_program(const ModelGraph& graph, std::int64_t capacity);
/// What it takes over a text of all the tokens that there is room for, `capacity`: `longest` is of
/// one sample of so many.
Bytes decode_bytes(const ModelGraph& longest, std::int64_t capacity);

}  // namespace trainx::program
