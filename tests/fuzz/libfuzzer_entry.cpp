// libFuzzer's entry to the one target that TRAINX_FUZZ_TARGET names, and to its mutator where
// TRAINX_FUZZ_MUTATOR names one. An exception that leaves the target ends the process, which
// libFuzzer reports. With TRAINX_FUZZ_ALL_WAYS in the environment an input is read in all ways.
#include "fuzz/mutators/mutators.hpp"
#include "fuzz/targets.hpp"
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using trainx::fuzz::Ways;
  static const bool all_ways = std::getenv("TRAINX_FUZZ_ALL_WAYS");
  const auto input = std::as_bytes(std::span(data, size));
  try {
    trainx::fuzz::TRAINX_FUZZ_TARGET(input, all_ways ? Ways::all() : Ways::one_for(input));
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    throw;
  }
  return 0;
}

/// Short stacks of allocations, no patterns in fresh memory, and little memory kept from being used
/// again: a third of the time. ASAN_OPTIONS=malloc_context_size=30 shows whole stacks of a finding.
extern "C" const char* __asan_default_options() {
  return "malloc_context_size=2:max_malloc_fill_size=0:quarantine_size_mb=1:"
         "thread_local_quarantine_size_kb=64";
}

#ifdef TRAINX_FUZZ_MUTATOR
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

namespace {

/// 0: it has not the form that the mutator knows, or became too long.
std::size_t mutate(std::string_view input, std::string_view other, unsigned seed, std::uint8_t* out,
                   std::size_t most) {
  trainx::fuzz::Random random(seed);
  const std::string made = trainx::fuzz::TRAINX_FUZZ_MUTATOR(input, other, random);
  if (made.size() > most) return 0;
  std::memcpy(out, made.data(), made.size());
  return made.size();
}

std::string_view text(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t most, unsigned seed) {
  constexpr unsigned bytewise = 4;  // one in four
  if (seed % bytewise != 0)
    if (const std::size_t made = mutate(text(data, size), text(data, size), seed, data, most))
      return made;
  return LLVMFuzzerMutate(data, size, most);
}

extern "C" std::size_t LLVMFuzzerCustomCrossOver(const std::uint8_t* a, std::size_t a_size,
                                                 const std::uint8_t* b, std::size_t b_size,
                                                 std::uint8_t* out, std::size_t most,
                                                 unsigned seed) {
  if (seed % 4 != 0) return 0;  // then another mutation is tried: this one reads two documents
  return mutate(text(a, a_size), text(b, b_size), seed, out, most);
}
#endif
