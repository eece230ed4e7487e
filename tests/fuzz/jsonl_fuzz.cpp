#include "data/labelled/labelled_lines.hpp"
#include "fuzz/labelled.hpp"
#include "fuzz/targets.hpp"

namespace trainx::fuzz {

void fuzz_jsonl(Bytes bytes, const Ways& ways) {
  ways.each(4 * ways_of_labelled, [&](std::size_t i) {
    constexpr bool either[] = {false, true};
    Choices way(i);
    options::JsonlOptions options;
    options.truncate = way.of(either);
    options.packed = way.of(either);
    read_labelled(way, [&](const data::SourceOptions& how) {
      return data::labelled::open_jsonl(options, data::MappedFile("data.jsonl", bytes), how);
    });
  });
}

}  // namespace trainx::fuzz
