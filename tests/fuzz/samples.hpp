#pragma once
#include "data/source.hpp"
#include "fuzz/expect.hpp"
#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

namespace trainx::fuzz {

/// Opens a source with and without a scan and a limit of the vocabulary, and reads its samples;
/// what a scan passed must be readable.
template <class OpenSource>
void read_all_ways(OpenSource&& open) {
  constexpr std::int64_t most_samples = 256;
  for (const std::int64_t length : {1, 7})
    for (const std::int64_t limit : {0, 100, 50257})
      for (const bool scan : {false, true}) {
        data::SourceOptions how;
        how.sequence_length = length;
        how.vocab_limit = limit;
        how.scan = scan;
        std::unique_ptr<data::Source> source;
        if (!accepted([&] { source = open(how); })) continue;
        require(source->samples() >= 1, "a source that opens has a sample");
        std::vector<std::int32_t> tokens(static_cast<std::size_t>(length)), targets(tokens);
        bool readable = true;
        for (std::int64_t i = 0; i < std::min(source->samples(), most_samples); ++i) {
          // The first samples and the last.
          const std::int64_t sample = i % 2 == 0 ? i / 2 : source->samples() - 1 - i / 2;
          readable = accepted([&] { source->read(sample, {tokens, targets}); }) && readable;
          if (!readable) continue;
          for (const auto* ids : {&tokens, &targets})
            for (const std::int32_t id : *ids)
              require(id >= 0 && (limit == 0 || id < limit), "ids lie in the vocabulary");
        }
        require(readable || !scan || limit == 0, "what a scan passed can be read");
      }
}

}  // namespace trainx::fuzz
