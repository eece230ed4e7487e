#include "data/text/text_files.hpp"
#include "fuzz/expect.hpp"
#include "fuzz/samples.hpp"
#include "fuzz/targets.hpp"

namespace trainx::fuzz {

void fuzz_text(Bytes bytes, const Ways& ways) {
  ways.each(ways_of_samples, [&](std::size_t i) {
    Choices way(i);
    read_samples(way, [&](const data::SourceOptions& how) {
      std::vector<data::MappedFile> files;
      files.emplace_back("data.txt", bytes);
      return data::text::open_text(std::move(files), "data.txt", how);
    });
  });
}

}  // namespace trainx::fuzz
