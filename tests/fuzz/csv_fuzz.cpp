#include "data/labelled/labelled_lines.hpp"
#include "fuzz/labelled.hpp"
#include "fuzz/memory_file.hpp"

namespace trainx::fuzz {

void fuzz_csv(Bytes bytes) {
  const MemoryFile file(bytes);
  for (const options::Delimiter delimiter : {options::Delimiter::comma, options::Delimiter::tab}) {
    options::CsvOptions options;
    options.train = file.path();
    options.truncate = delimiter == options::Delimiter::tab;
    options.delimiter.value = delimiter;
    read_labelled([&](const data::SourceOptions& how) {
      return data::labelled::open_csv(options, options.train.names.front(), how);
    });
  }
}

}  // namespace trainx::fuzz
