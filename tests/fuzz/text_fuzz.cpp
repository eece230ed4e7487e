#include "data/text/text_files.hpp"
#include "fuzz/expect.hpp"
#include "fuzz/memory_file.hpp"
#include "fuzz/samples.hpp"

namespace trainx::fuzz {

void fuzz_text(Bytes bytes) {
  const MemoryFile file(bytes);
  options::TextOptions options;
  options.train = file.path();
  read_all_ways([&](const data::SourceOptions& how) {
    return data::text::open_text(options.train.names, how);
  });
}

}  // namespace trainx::fuzz
