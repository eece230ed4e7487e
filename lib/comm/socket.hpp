// TCP sockets: close-on-exec, non-blocking, without delay for small messages.
#pragma once
#include "comm/clock.hpp"
#include "core/descriptor.hpp"
#include <string>

namespace trainx::comm {

/// What the reason begins with where a host's name means no address.
constexpr const char* unknown_name_words = "its name cannot be resolved";

/// Whether the name means an address at this moment.
bool is_known(const std::string& address);
/// Listens at this address and no other; port 0: one that is free. Throws UserError 69: the port is
/// in use, or the address is not of this host.
Descriptor listen_at(const std::string& address, int port);
int port_of(const Descriptor& listener);
/// Makes a descriptor from elsewhere what listen_at() gives.
void adopt(const Descriptor& listener);
/// Not open where nobody waits. `address`: of the other side, as digits.
Descriptor accept_one(const Descriptor& listener, std::string& address);
/// Not open where it failed; then `why` has the system's words.
Descriptor connect_to(const std::string& address, int port, Time deadline, std::string& why);
bool is_loopback(const std::string& address);

}  // namespace trainx::comm
