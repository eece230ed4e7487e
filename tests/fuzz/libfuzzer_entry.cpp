// libFuzzer's entry to the one target that TRAINX_FUZZ_TARGET names; an exception that leaves it
// ends the process, which libFuzzer reports.
#include "fuzz/targets.hpp"
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  trainx::fuzz::TRAINX_FUZZ_TARGET(std::as_bytes(std::span(data, size)));
  return 0;
}
