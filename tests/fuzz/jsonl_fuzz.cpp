#include "data/labelled/labelled_lines.hpp"
#include "fuzz/labelled.hpp"
#include "fuzz/targets.hpp"

namespace trainx::fuzz {

void fuzz_jsonl(Bytes bytes) {
  for (const bool packed : {false, true})
    for (const bool truncate : {false, true}) {
      options::JsonlOptions options;
      options.truncate = truncate;
      options.packed = packed;
      read_labelled([&](const data::SourceOptions& how) {
        return data::labelled::open_jsonl(options, data::MappedFile("data.jsonl", bytes), how);
      });
    }
}

}  // namespace trainx::fuzz
