#include "options/model/published.hpp"
#include "architectures/families/encoder_family.hpp"
#include "architectures/families/family.hpp"
#include "architectures/families/seq2seq_family.hpp"
#include "architectures/gpt2.hpp"

namespace trainx::options {
namespace {

/// Options with each family's name and summary.
template <class Options, class Family>
std::vector<Options> options_of(const std::vector<Family>& families) {
  std::vector<Options> out;
  for (const Family& f : families) {
    out.emplace_back();
    out.back().name = f.name;
    out.back().summary = f.summary;
  }
  return out;
}

template <class Dims>
std::vector<PublishedSize> listed(const architectures::Sizes<Dims>& sizes) {
  std::vector<PublishedSize> out;
  for (const auto& [name, dims] : sizes) {
    PublishedSize& size = out.emplace_back(PublishedSize{.name = name,
                                                         .num_heads = dims.num_heads,
                                                         .hidden_size = dims.hidden_size,
                                                         .max_positions = dims.max_positions});
    if constexpr (requires { dims.head_size; }) size.head_size = dims.head_size;
  }
  return out;
}

}  // namespace

const std::vector<BertOptions>& BertOptions::described() {
  static const auto all = options_of<BertOptions>(architectures::encoder_families());
  return all;
}

const std::vector<DecoderOptions>& DecoderOptions::described() {
  static const auto all = options_of<DecoderOptions>(architectures::families());
  return all;
}

const std::vector<Seq2SeqOptions>& Seq2SeqOptions::described() {
  static const auto all = options_of<Seq2SeqOptions>(architectures::seq2seq_families());
  return all;
}

std::vector<PublishedSize> published_sizes(const Gpt2Options& o) {
  return listed(architectures::sizes(o));
}
std::vector<PublishedSize> published_sizes(const BertOptions& o) {
  return listed(architectures::sizes(o));
}
std::vector<PublishedSize> published_sizes(const DecoderOptions& o) {
  return listed(architectures::sizes(o));
}
std::vector<PublishedSize> published_sizes(const Seq2SeqOptions& o) {
  return listed(architectures::sizes(o));
}

}  // namespace trainx::options
