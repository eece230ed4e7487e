#include "data/labelled/labelled_lines.hpp"
#include "fuzz/labelled.hpp"
#include "fuzz/memory_file.hpp"

namespace trainx::fuzz {

void fuzz_jsonl(Bytes bytes) {
  const MemoryFile file(bytes);
  for (const bool packed : {false, true})
    for (const bool truncate : {false, true}) {
      options::JsonlOptions options;
      options.train = file.path();
      options.truncate = truncate;
      options.packed = packed;
      read_labelled([&](const data::SourceOptions& how) {
        return data::labelled::open_jsonl(options, options.train.names.front(), how);
      });
    }
}

}  // namespace trainx::fuzz
