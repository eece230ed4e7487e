#include "checkpoint/checkpoint.hpp"
#include "fuzz/expect.hpp"
#include "fuzz/memory_file.hpp"
#include <numeric>

namespace trainx::fuzz {

void fuzz_safetensors(Bytes bytes) {
  const MemoryFile file(bytes);
  accepted([&] {
    const checkpoint::SafetensorsReader reader(file.path());
    std::size_t total = 0;
    for (const auto& [name, tensor] : reader.tensors()) {
      std::size_t expected = static_cast<std::size_t>(size_of(tensor.dtype));
      for (const std::int64_t d : tensor.dims) {
        require(d >= 0, "sizes are not negative");
        expected *= static_cast<std::size_t>(d);
      }
      require(tensor.data.size() == expected, "a tensor has the bytes of its shape");
      // Reading them all shows the sanitizer a span that leaves the mapping.
      volatile unsigned sum = 0;
      for (const std::byte b : tensor.data) sum = sum + static_cast<unsigned>(b);
      total += expected;
    }
    require(total < bytes.size(), "tensors lie in the file, behind its header");
  });
}

}  // namespace trainx::fuzz
