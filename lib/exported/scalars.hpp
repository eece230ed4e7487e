#pragma once
#include <ATen/core/ivalue.h>
#include <string>
#include <vector>

namespace trainx::exported {

/// Whether there is such a function of so many numbers.
bool is_scalar_function(const std::string& name, std::size_t arguments);
/// A number made of sizes, as Python computes it: whole numbers stay whole, division rounds down.
/// Throws c10::Error where it has no result.
c10::IValue scalar_function(const std::string& name, const std::vector<c10::IValue>& arguments);

}  // namespace trainx::exported
