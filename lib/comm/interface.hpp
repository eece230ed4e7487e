#pragma once
#include <string>

namespace trainx::comm {

/// The name of this host's network interface that has this address, as digits or as a name; empty:
/// none has, as behind address translation.
std::string interface_of(const std::string& address);

}  // namespace trainx::comm
