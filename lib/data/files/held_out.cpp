#include "data/files/held_out.hpp"
#include "core/error.hpp"
#include "data/permutation.hpp"
#include <algorithm>
#include <cmath>

namespace trainx::data {
namespace {

constexpr std::uint64_t held_out_key =
    0x68656c646f7574ull;  // fixed: all runs on the same data hold out the same samples

/// Ascending; distinct, as the first values of a permutation of all samples.
std::vector<std::int64_t> chosen(std::int64_t count, std::int64_t samples) {
  std::vector<std::int64_t> out;
  out.reserve(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i)
    out.push_back(static_cast<std::int64_t>(
        permute(static_cast<std::uint64_t>(i), static_cast<std::uint64_t>(samples), held_out_key)));
  std::ranges::sort(out);
  return out;
}

class SplitSource final : public Source {
 public:
  SplitSource(std::unique_ptr<Source> all, Split split, std::int64_t count)
      : all_(std::move(all)), split_(split), held_out_(chosen(count, all_->samples())) {}

  std::int64_t samples() const override {
    const auto held_out = static_cast<std::int64_t>(held_out_.size());
    return split_ == Split::eval ? held_out : all_->samples() - held_out;
  }
  std::int64_t vocab_size() const override { return all_->vocab_size(); }
  std::int64_t length(std::int64_t index) const override { return all_->length(in_all(index)); }
  std::int64_t target_length(std::int64_t index) const override {
    return all_->target_length(in_all(index));
  }
  std::vector<DataFile> files() const override { return all_->files(); }
  std::vector<FileFindings> findings(const Counted& counted) const override {
    std::int64_t own = 0;  // samples of this side before the one that is asked for
    return all_->findings([&](std::int64_t index) {
      const bool held_out = std::ranges::binary_search(held_out_, index);
      return held_out == (split_ == Split::eval) && counted(own++);
    });
  }
  bool read(std::int64_t index, SampleView out) const override {
    return all_->read(in_all(index), out);
  }

 private:
  std::int64_t in_all(std::int64_t index) const {
    if (index < 0 || index >= samples())
      throw InternalError("held-out split: sample " + std::to_string(index) + " of " +
                          std::to_string(samples()));
    if (split_ == Split::eval) return held_out_[static_cast<std::size_t>(index)];
    // held_out_[k] - k training samples come before the k-th that is held out: the first k for
    // which there are more than `index`.
    std::size_t low = 0, high = held_out_.size();
    while (low < high) {
      const std::size_t k = low + (high - low) / 2;
      if (held_out_[k] - static_cast<std::int64_t>(k) > index)
        high = k;
      else
        low = k + 1;
    }
    return index + static_cast<std::int64_t>(low);
  }

  std::unique_ptr<Source> all_;
  Split split_;
  std::vector<std::int64_t> held_out_;  // ascending
};

}  // namespace

std::int64_t held_out_samples(const options::HeldOut& held_out, std::int64_t samples) {
  const std::int64_t count =
      held_out.samples > 0
          ? held_out.samples
          : std::max<std::int64_t>(
                1, std::llround(held_out.percent / 100 * static_cast<double>(samples)));
  if (count >= samples)
    throw UserError(ExitCode::invalid_recipe, "data.held_out sets " + std::to_string(count) +
                                                  " samples aside, and the data has " +
                                                  std::to_string(samples) +
                                                  ": lower it, or give more data");
  return count;
}

std::unique_ptr<Source> split_source(std::unique_ptr<Source> source, Split split,
                                     const options::HeldOut& held_out) {
  const std::int64_t count = held_out_samples(held_out, source->samples());
  return std::make_unique<SplitSource>(std::move(source), split, count);
}

}  // namespace trainx::data
