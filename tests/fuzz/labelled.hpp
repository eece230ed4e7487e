#pragma once
#include "data/source.hpp"
#include "fuzz/expect.hpp"
#include "fuzz/ways.hpp"
#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

namespace trainx::fuzz {

constexpr int ways_of_labelled = 6;  // tasks, limits

/// Opens lines with and without a scan, and reads their samples; what a scan passed must be
/// readable. `way`: the task and the limits.
template <class OpenSource>
void read_labelled(Choices& way, OpenSource&& open) {
  constexpr std::int64_t most_samples = 64;
  constexpr int most_refusals = 2;  // the others say the same
  constexpr int row = 7;
  constexpr data::Targets tasks[] = {data::Targets::next_token, data::Targets::own_token,
                                     data::Targets::label};
  constexpr std::int64_t limits[] = {0, 100};
  const data::Targets targets = way.of(tasks);
  const std::int64_t limit = way.of(limits);
  const auto in_range = [](std::int32_t id, std::int64_t below) {
    return id >= 0 && (below == 0 || id < below);
  };
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
    int refused = 0;
    for (std::int64_t i = 0;
         i < std::min(source->samples(), most_samples) && refused < most_refusals; ++i) {
      std::vector<std::int32_t> tokens(row), wanted(row, data::no_target), types(row),
          length(1, row), label(1, data::no_target);
      std::int64_t told = 0;
      const bool readable = accepted([&] {
        told = source->length(i);
        source->read(i, {tokens, wanted, types, length, label});
      });
      require(readable || !scan, "what a scan passed can be read");
      if (!readable) {
        ++refused;
        continue;
      }
      require(told >= 1 && told <= row && told == length[0],
              "a sample has the length that is told");
      for (int t = 0; t < row; ++t) {
        const auto at = static_cast<std::size_t>(t);
        require(in_range(tokens[at], limit) && in_range(types[at], how.token_type_limit),
                "ids lie in the vocabulary");
        require(wanted[at] == data::no_target ||
                    (targets != data::Targets::label && t < told && in_range(wanted[at], limit)),
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
