// Dropout of an export, drawn as trainx's own: by keys, so that it does not depend on how a batch
// is cut, is recomputed, and a CUDA graph can hold it.
#pragma once
#include "exported/call.hpp"

namespace trainx::exported {

/// Computes a call that draws in training, from its arguments on the stack, which then holds its
/// result. False: it draws nothing, or what it draws is not known by samples; the stack is as it
/// was.
bool call_keyed(const Call& call, std::vector<c10::IValue>& stack);

}  // namespace trainx::exported
