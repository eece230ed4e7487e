#include "data/labelled/labelled_lines.hpp"
#include "fuzz/labelled.hpp"
#include "fuzz/targets.hpp"

namespace trainx::fuzz {

void fuzz_csv(Bytes bytes, const Ways& ways) {
  ways.each(2 * ways_of_labelled, [&](std::size_t i) {
    constexpr options::Delimiter delimiters[] = {options::Delimiter::comma,
                                                 options::Delimiter::tab};
    Choices way(i);
    options::CsvOptions options;
    options.delimiter.value = way.of(delimiters);
    options.truncate = options.delimiter.value == options::Delimiter::tab;
    read_labelled(way, [&](const data::SourceOptions& how) {
      return data::labelled::open_csv(options, data::MappedFile("data.csv", bytes), how);
    });
  });
}

}  // namespace trainx::fuzz
