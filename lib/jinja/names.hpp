#pragma once
#include "jinja/syntax.hpp"
#include <string>

namespace trainx::jinja {

/// Is the variable read in a body, before it is assigned there?
bool reads_name(const Body& body, const std::string& name);

/// Says for each variable in which scope it lives, as Jinja does before it runs a template: which
/// variables an assignment reaches, and what a scope sees of those around it.
void resolve_names(Tree& tree);

}  // namespace trainx::jinja
