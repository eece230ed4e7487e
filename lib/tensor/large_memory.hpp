// Of memory that one thread would take seconds for: by all that the rank may use.
#pragma once
#include <cstddef>

namespace trainx::tensor {

void set_zero(std::byte* memory, std::size_t bytes);
void copy(std::byte* to, const std::byte* from, std::size_t bytes);

}  // namespace trainx::tensor
