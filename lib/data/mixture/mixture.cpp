#include "data/mixture/mixture.hpp"
#include "core/error.hpp"
#include <algorithm>

namespace trainx::data {
namespace {

class MixtureSource final : public Source {
 public:
  void add(std::unique_ptr<Source> source, double weight) {
    parts_.push_back({source->samples(), weight});
    total_ += source->samples();
    ends_.push_back(total_);
    sources_.push_back(std::move(source));
  }
  bool empty() const { return sources_.empty(); }

  std::int64_t samples() const override { return total_; }
  std::int64_t vocab_size() const override {
    std::int64_t largest = 0;
    for (const auto& source : sources_) largest = std::max(largest, source->vocab_size());
    return largest;
  }
  std::int64_t length(std::int64_t index) const override {
    const Place at = find(index);
    return at.source.length(at.index);
  }
  std::vector<MixturePart> parts() const override { return parts_; }
  bool read(std::int64_t index, SampleView out) const override {
    const Place at = find(index);
    return at.source.read(at.index, out);
  }

 private:
  struct Place { const Source& source; std::int64_t index; };
  Place find(std::int64_t index) const {
    if (index < 0 || index >= total_) throw InternalError("mixture: sample " + std::to_string(index) + " of " + std::to_string(total_));
    const auto s = static_cast<std::size_t>(std::upper_bound(ends_.begin(), ends_.end(), index) - ends_.begin());
    return {*sources_[s], index - (ends_[s] - parts_[s].samples)};
  }

  std::vector<std::unique_ptr<Source>> sources_;
  std::vector<MixturePart> parts_;
  std::vector<std::int64_t> ends_;      // samples up to and including source s
  std::int64_t total_ = 0;
};

}  // namespace

std::unique_ptr<Source> open_mixture(const spec::MixtureOptions& options, Split split, const SourceOptions& how) {
  auto mixture = std::make_unique<MixtureSource>();
  for (const spec::MixtureEntry& entry : options.sources) {
    const spec::DataOptions source = std::visit([](const auto& o) -> spec::DataOptions { return o; }, entry.source);
    if (auto opened = open_source(source, split, how)) mixture->add(std::move(opened), entry.weight);
  }
  if (mixture->empty()) return nullptr;
  return mixture;
}

}  // namespace trainx::data
