#pragma once
#include "data/source.hpp"
#include "fuzz/expect.hpp"
#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

namespace trainx::fuzz {

/// Opens lines for every task, with and without limits and a scan, and reads their samples; what a
/// scan passed must be readable.
template <class OpenSource>
void read_labelled(OpenSource&& open) {
  constexpr std::int64_t most_samples = 64;
  constexpr int row = 7;
  for (const data::Targets targets :
       {data::Targets::next_token, data::Targets::own_token, data::Targets::label})
    for (const std::int64_t limit : {0, 100})
      for (const bool scan : {false, true}) {
        data::SourceOptions how;
        how.sequence_length = row;
        how.vocab_limit = limit;
        how.token_type_limit = how.num_labels = limit / 50;
        how.targets = targets;
        how.scan = scan;
        std::unique_ptr<data::Source> source;
        if (!accepted([&] { source = open(how); })) continue;
        require(source->samples() >= 1, "a source that opens has a sample");
        for (std::int64_t i = 0; i < std::min(source->samples(), most_samples); ++i) {
          std::vector<std::int32_t> tokens(row), wanted(row, data::no_target), types(row),
              length(1, row), label(1, data::no_target);
          std::int64_t told = 0;
          const bool readable = accepted([&] {
            told = source->length(i);
            source->read(i, {tokens, wanted, types, length, label});
          });
          require(readable || !scan, "what a scan passed can be read");
          if (!readable) continue;
          require(told >= 1 && told <= row && told == length[0],
                  "a sample has the length that is told");
          const auto in_range = [](std::int32_t id, std::int64_t below) {
            return id >= 0 && (below == 0 || id < below);
          };
          for (int t = 0; t < row; ++t) {
            const auto at = static_cast<std::size_t>(t);
            require(in_range(tokens[at], limit) && in_range(types[at], how.token_type_limit),
                    "ids lie in the vocabulary");
            require(wanted[at] == data::no_target || (targets != data::Targets::label && t < told &&
                                                      in_range(wanted[at], limit)),
                    "targets lie in the vocabulary");
            require(t < told || (tokens[at] == 0 && types[at] == 0),
                    "what is behind a sample stays padding");
          }
          require(targets == data::Targets::label ? in_range(label[0], how.num_labels)
                                                  : label[0] == data::no_target,
                  "a class is one of the classes");
        }
      }
}

}  // namespace trainx::fuzz
