#pragma once
#include "data/source.hpp"
#include "fuzz/expect.hpp"
#include "fuzz/ways.hpp"
#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

namespace trainx::fuzz {

constexpr int ways_of_samples = 6;  // lengths, limits

/// Opens a source with and without a scan, and reads its samples; what a scan passed must be
/// readable. `way`: row length and limit of the vocabulary.
template <class OpenSource>
void read_samples(Choices& way, OpenSource&& open) {
  constexpr std::int64_t most_samples = 256;
  constexpr int most_refusals = 2;  // the others say the same
  constexpr std::int64_t lengths[] = {1, 7}, limits[] = {0, 100, 50257};
  const std::int64_t length = way.of(lengths), limit = way.of(limits);
  for (const bool scan : {false, true}) {
    data::SourceOptions how;
    how.sequence_length = length;
    how.vocab_limit = limit;
    how.scan = scan;
    std::unique_ptr<data::Source> source;
    if (!accepted([&] { source = open(how); })) continue;
    require(source->samples() >= 1, "a source that opens has a sample");
    std::vector<std::int32_t> tokens(static_cast<std::size_t>(length)), targets(tokens);
    int refused = 0;
    for (std::int64_t i = 0;
         i < std::min(source->samples(), most_samples) && refused < most_refusals; ++i) {
      // The first samples and the last.
      const std::int64_t sample = i % 2 == 0 ? i / 2 : source->samples() - 1 - i / 2;
      if (!accepted([&] { source->read(sample, {tokens, targets}); })) {
        ++refused;
        continue;
      }
      for (const auto* ids : {&tokens, &targets})
        for (const std::int32_t id : *ids)
          require(id >= 0 && (limit == 0 || id < limit), "ids lie in the vocabulary");
    }
    require(refused == 0 || !scan || limit == 0, "what a scan passed can be read");
  }
}

}  // namespace trainx::fuzz
