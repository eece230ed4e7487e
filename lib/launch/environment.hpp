// Variables that another launcher sets, read with sentences about what is wrong with them.
#pragma once
#include "comm/membership.hpp"
#include <functional>
#include <span>
#include <string>

namespace trainx::launch {

/// An environment variable, empty where it is not set: trainx::environment_variable, or a table in
/// tests.
using Environment = std::function<std::string(const char*)>;

/// Derived ports lie in [first_derived_port, first_derived_port + derived_ports): below those that
/// Linux gives to outgoing connections (32768 and up).
constexpr int first_derived_port = 20000, derived_ports = 10000;

/// A whole number of at most `most`. Throws UserError 2 that names the variable and the launcher
/// that sets it.
int whole_number(const Environment& environment, const char* name, int most,
                 const std::string& launcher);
/// Are these set? Throws UserError 2 where some are and others are not.
bool all_set(const Environment& environment, std::span<const char* const> names,
             const std::string& launcher);
/// A port. Throws UserError 2.
int port_of(const Environment& environment, const char* name);
/// A port in the derived range that is the same wherever `text` is.
int derived_port(const std::string& text);
/// Holds ranks against their sizes. `names`: of the variables that they were read from, for the
/// sentence. Throws UserError 2.
void check_ranks(const comm::Membership& membership, const std::string& names);

}  // namespace trainx::launch
