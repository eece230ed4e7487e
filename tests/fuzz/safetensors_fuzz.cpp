#include "checkpoint/checkpoint.hpp"
#include "checkpoint/safetensors_header.hpp"
#include "fuzz/expect.hpp"
#include "fuzz/memory_file.hpp"
#include <cstring>
#include <vector>

namespace trainx::fuzz {
namespace {

/// The header in memory of its own, of which the sanitizer sees the end. A mapping goes on to the
/// end of its page.
void check_header(Bytes bytes) {
  constexpr std::size_t length_bytes = 8;
  std::uint64_t size = 0;
  if (bytes.size() < length_bytes) return;
  std::memcpy(&size, bytes.data(), length_bytes);
  bytes = bytes.subspan(length_bytes);
  if (size > bytes.size()) return;
  const std::vector<char> text(reinterpret_cast<const char*>(bytes.data()),
                               reinterpret_cast<const char*>(bytes.data()) + size);
  accepted([&] {
    checkpoint::parse_safetensors_header({text.data(), text.size()}, "model.safetensors",
                                         length_bytes,
                                         static_cast<std::int64_t>(bytes.size() - size));
  });
}

}  // namespace

void fuzz_safetensors(Bytes bytes, const Ways&) {
  const MemoryFile file(bytes);
  check_header(bytes);
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
