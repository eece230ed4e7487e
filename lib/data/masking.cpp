#include "data/masking.hpp"
#include "core/error.hpp"
#include "data/counter_random.hpp"
#include <algorithm>

namespace trainx::data {
namespace {

class Masker {
 public:
  Masker(const options::Masking& masking, std::uint64_t seed, std::int64_t position)
      : masking_(masking),
        random_(seed, stream, static_cast<std::uint64_t>(position)),
        special_(masking.special_tokens) {
    if (masking.mask_token < 0)
      throw UserError(ExitCode::bad_data,
                      "a sample has no labels, and the mask token is not known: give labels to all "
                      "samples, or set model.options.mask_token and special_tokens");
    std::erase_if(special_, [&](std::int64_t id) { return id < 0 || id >= masking.vocab_size; });
    std::ranges::sort(special_);
    special_.erase(std::unique(special_.begin(), special_.end()), special_.end());
    ordinary_ = masking.vocab_size - static_cast<std::int64_t>(special_.size());
    if (ordinary_ < 1) throw InternalError("masking: a vocabulary of special tokens alone");
  }

  void draw(SampleView sample) {
    const std::size_t length = sample.length.empty() ? sample.tokens.size()
                                                     : static_cast<std::size_t>(sample.length[0]);
    std::vector<std::size_t> maskable;
    bool any = false;
    for (std::size_t i = 0; i < length; ++i) {
      if (std::ranges::binary_search(special_, std::int64_t{sample.tokens[i]})) continue;
      maskable.push_back(i);
      if (random_.uniform() >= masking_.probability) continue;
      make_target(sample, i);
      any = true;
    }
    if (!any && !maskable.empty()) make_target(sample, maskable[random_.below(maskable.size())]);
  }

 private:
  void make_target(SampleView sample, std::size_t i) {
    sample.targets[i] = sample.tokens[i];
    const double kind = random_.uniform();
    if (kind < 0.8)
      sample.tokens[i] = static_cast<std::int32_t>(masking_.mask_token);
    else if (kind < 0.9)
      sample.tokens[i] = static_cast<std::int32_t>(ordinary_token());
  }

  std::int64_t ordinary_token() {
    auto id = static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(ordinary_)));
    // ascending: counts past those before it
    for (const std::int64_t special : special_) id += id >= special ? 1 : 0;
    return id;
  }

  static constexpr std::uint64_t stream = 0x6d61736bull;  // of masks
  const options::Masking& masking_;
  CounterRandom random_;
  std::vector<std::int64_t> special_;  // ascending, in the vocabulary
  std::int64_t ordinary_ = 0;          // ids that are not special
};

}  // namespace

void draw_masks(const options::Masking& masking, std::uint64_t seed, std::int64_t position,
                SampleView sample) {
  Masker(masking, seed, position).draw(sample);
}

}  // namespace trainx::data
