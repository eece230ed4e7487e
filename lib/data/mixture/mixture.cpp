#include "data/mixture/mixture.hpp"
#include "data/files/sample_ranges.hpp"
#include <algorithm>

namespace trainx::data {
namespace {

class MixtureSource final : public Source {
 public:
  void add(std::unique_ptr<Source> source, double weight) {
    parts_.push_back({source->samples(), weight});
    ranges_.append(source->samples());
    sources_.push_back(std::move(source));
  }
  bool empty() const { return sources_.empty(); }

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
  std::vector<MixturePart> parts() const override { return parts_; }
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
  std::vector<MixturePart> parts_;
  SampleRanges ranges_;
};

}  // namespace

std::unique_ptr<Source> open_mixture(const options::MixtureOptions& options, Split split,
                                     const SourceOptions& how) {
  auto mixture = std::make_unique<MixtureSource>();
  for (const options::MixtureEntry& entry : options.sources) {
    const options::DataOptions source =
        std::visit([](const auto& o) -> options::DataOptions { return o; }, entry.source);
    if (auto opened = open_source(source, split, how))
      mixture->add(std::move(opened), entry.weight);
  }
  if (mixture->empty()) return nullptr;
  return mixture;
}

}  // namespace trainx::data
