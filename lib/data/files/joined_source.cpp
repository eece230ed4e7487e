#include "data/files/joined_source.hpp"
#include "core/error.hpp"
#include "data/files/sample_ranges.hpp"
#include <algorithm>

namespace trainx::data {
namespace {

class JoinedSource final : public Source {
 public:
  explicit JoinedSource(std::vector<std::unique_ptr<Source>> sources)
      : sources_(std::move(sources)) {
    for (const auto& source : sources_) ranges_.append(source->samples());
  }

  std::int64_t samples() const override { return ranges_.total(); }
  std::int64_t vocab_size() const override {
    std::int64_t largest = 0;
    for (const auto& source : sources_) largest = std::max(largest, source->vocab_size());
    return largest;
  }
  std::int64_t length(std::int64_t index) const override {
    const auto [source, own] = ranges_.find(index);
    return sources_[source]->length(own);
  }
  std::int64_t target_length(std::int64_t index) const override {
    const auto [source, own] = ranges_.find(index);
    return sources_[source]->target_length(own);
  }
  std::vector<DataFile> files() const override {
    std::vector<DataFile> all;
    for (const auto& source : sources_)
      for (DataFile& file : source->files()) all.push_back(std::move(file));
    return all;
  }
  std::vector<FileFindings> findings(const Counted& counted) const override {
    std::vector<FileFindings> all;
    std::int64_t begin = 0;
    for (const auto& source : sources_) {
      for (FileFindings& found :
           source->findings([&](std::int64_t index) { return counted(begin + index); }))
        all.push_back(std::move(found));
      begin += source->samples();
    }
    return all;
  }
  bool read(std::int64_t index, SampleView out) const override {
    const auto [source, own] = ranges_.find(index);
    return sources_[source]->read(own, out);
  }

 private:
  std::vector<std::unique_ptr<Source>> sources_;
  SampleRanges ranges_;
};

}  // namespace

std::unique_ptr<Source> join_sources(std::vector<std::unique_ptr<Source>> sources) {
  if (sources.empty()) throw InternalError("data: a source without files");
  if (sources.size() == 1) return std::move(sources.front());
  return std::make_unique<JoinedSource>(std::move(sources));
}

}  // namespace trainx::data
