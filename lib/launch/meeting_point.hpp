// Where workers of one launcher find each other: made before they start, so that no port is guessed
// and none is taken by somebody else in between.
#pragma once
#include "core/descriptor.hpp"
#include <string>

namespace trainx::launch {

struct MeetingPoint {
  Descriptor listener;  // at 127.0.0.1; rank 0 inherits it
  int port = 0;         // that the kernel chose
  std::string secret;   // of this launch
};
/// Throws UserError 69.
MeetingPoint make_meeting_point();

}  // namespace trainx::launch
