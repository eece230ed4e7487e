// Buffers that modules of the user's own change in forward, such as running statistics.
#pragma once
#include "architectures/dims.hpp"
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace at {
class Tensor;
}
namespace trainx {
struct GraphModule;
}

namespace trainx::model {

/// By the name that they are saved under, "<module>.<buffer>": one tensor for all blocks of the
/// process, which trains one model. Empty: there are none.
std::map<std::string, at::Tensor>& changing_buffers();
/// Lets the module's buffers of these names be those tensors; of a name that there is not yet, the
/// module's is. On a GPU blocks share the other buffers too.
void share_buffers(GraphModule& module, const std::vector<std::string>& names);
/// Before blocks are built, and before a GPU that holds buffers is given back.
void forget_buffers();
/// As the modules' constructors leave them after torch::manual_seed(seed).
void begin_buffers(const architectures::ModelDims& dims, std::uint64_t seed);

}  // namespace trainx::model
