// Memory for modules of the user's own, which need not be a GPU's to be handed out.
#include "operations/module/module_memory_cuda.hpp"
#include "support/catch.hpp"
#include <vector>

namespace module_memory_test {

using namespace trainx;

TEST_CASE("planned memory of modules is handed out again, and does not grow") {
  constexpr std::int64_t unit = gpu::FirstFit::alignment;
  std::vector<std::byte> piece(16 * unit);
  operations::cuda::PlannedModuleMemory memory(piece.data(), 16 * unit);
  std::vector<void*> taken;
  for (int i = 0; i < 16; ++i) taken.push_back(memory.take(1 + i * 30));
  for (void* block : taken) REQUIRE(block != nullptr);
  CHECK(memory.used_bytes() == 16 * unit);
  CHECK(memory.take(1) == nullptr);
  memory.give(taken[3]);
  memory.give(taken[4]);
  CHECK(memory.used_bytes() == 14 * unit);
  CHECK(memory.take(3 * unit) == nullptr);
  CHECK(memory.take(2 * unit) != nullptr);
  CHECK(memory.take(1) == nullptr);
}

}  // namespace module_memory_test
