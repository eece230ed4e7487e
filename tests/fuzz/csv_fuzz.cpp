#include "data/labelled/labelled_lines.hpp"
#include "fuzz/labelled.hpp"
#include "fuzz/targets.hpp"

namespace trainx::fuzz {

void fuzz_csv(Bytes bytes) {
  for (const options::Delimiter delimiter : {options::Delimiter::comma, options::Delimiter::tab}) {
    options::CsvOptions options;
    options.truncate = delimiter == options::Delimiter::tab;
    options.delimiter.value = delimiter;
    read_labelled([&](const data::SourceOptions& how) {
      return data::labelled::open_csv(options, data::MappedFile("data.csv", bytes), how);
    });
  }
}

}  // namespace trainx::fuzz
