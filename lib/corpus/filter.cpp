#include "corpus/filter.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "corpus/document_cut.hpp"
#include "corpus/encoders.hpp"
#include "corpus/sample_line.hpp"
#include "corpus/word_sample.hpp"
#include "data/labelled/json_line.hpp"
#include "data/labelled/line_index.hpp"
#include <unistd.h>
#include <cerrno>
#include <limits>
#include <nlohmann/json.hpp>

namespace trainx::corpus {
namespace {

using data::labelled::LinePlace;

/// Whole lines as they come, a batch at a time.
class LineBatches {
 public:
  LineBatches(int in, const std::string& name) : in_(in), name_(name) {}

  /// False after the last. What is taken holds no half line.
  bool next(std::string& batch, std::int64_t first_line) {
    batch.clear();
    while (!ended_) {
      const std::size_t before = kept_.size();
      if (before > longest_line) LinePlace{name_, first_line}.refuse("is longer than 64 MiB");
      kept_.resize(before + read_bytes);
      const ssize_t n = ::read(in_, kept_.data() + before, read_bytes);
      if (n < 0 && errno != EINTR)
        throw UserError(ExitCode::io_error, name_ + " cannot be read: " + errno_words(errno));
      kept_.resize(before + static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
      ended_ = n == 0;
      const std::size_t end = kept_.rfind('\n');
      if (end == std::string::npos || n < 0) continue;
      batch.assign(kept_, 0, end + 1);
      kept_.erase(0, end + 1);
      return true;
    }
    std::swap(batch, kept_);
    kept_.clear();
    return !batch.empty();
  }

 private:
  static constexpr std::size_t read_bytes = std::size_t{1} << 20;
  int in_;
  const std::string& name_;
  std::string kept_;
  bool ended_ = false;
};

std::string text_line(const tokenizer::Tokenizer& tokenizer, std::string_view line, bool special,
                      const LinePlace& place) {
  data::labelled::WantedFields wanted{};
  wanted[0] = true;
  data::labelled::Line parsed;
  parsed.clear();
  data::labelled::make_json_parser(wanted)->parse(line, place, parsed);
  if (!parsed.fields[0].given) place.refuse("has no input_ids");
  tokenizer::Ids ids;
  for (const std::int64_t id : parsed.fields[0].values) {
    if (id < 0 || id >= tokenizer.vocab_size())
      place.refuse("has the id " + std::to_string(id) + ", but the tokenizer " + tokenizer.path() +
                   " has ids below " + std::to_string(tokenizer.vocab_size()));
    ids.push_back(static_cast<std::int32_t>(id));
  }
  return nlohmann::json{{"text", tokenizer.decode(ids, !special)}}.dump(
             -1, ' ', false, nlohmann::json::error_handler_t::replace) +
         "\n";
}

std::string ids_line(const tokenizer::Tokenizer& tokenizer, tokenizer::Encoder& encoder,
                     const Record& record, const OutputOptions& options, const LinePlace& at) {
  const std::string place = at.path + ":" + std::to_string(at.number);
  std::string out;
  if (record.tokens) at.refuse("has input_ids and no text; --decode makes text of them");
  if (record.completion || record.conversation) {
    append_sample_line(masked_sample(record, tokenizer, options, encoder, at), out);
    return out;
  }
  if (record.words) {
    append_sample_line(word_sample(*record.words, tokenizer, options.special, encoder, place), out);
    return out;
  }
  const auto encode = [&](const std::string& text) {
    tokenizer::Ids ids;
    append_document(text, encoder, ids, place);
    return ids;
  };
  std::optional<tokenizer::Ids> second;
  if (record.pair) second = encode(*record.pair);
  append_sample_line(tokenizer.sample(encode(record.text), std::move(second), options.special),
                     record.label, out);
  return out;
}

}  // namespace

void filter_lines(const tokenizer::Tokenizer& tokenizer, const FilterOptions& options, int in,
                  const std::string& name, const std::function<void(const std::string&)>& write) {
  const auto reader = make_json_reader(options.output.names);
  Encoders encoders(tokenizer, options.threads);
  LineBatches batches(in, name);
  std::string batch;
  for (std::int64_t line = 1; batches.next(batch, line);) {
    const data::labelled::LineIndex lines(std::as_bytes(std::span(batch)));
    // A few ranges for each thread, so that none waits long for another.
    const std::int64_t ranges =
        std::min<std::int64_t>(lines.size(), options.threads == 1 ? 1 : 8 * encoders.threads());
    std::vector<std::string> out(static_cast<std::size_t>(ranges));
    const auto settled = [&](Record record, const LinePlace& place) {
      settle_label(record, options.output, place);
      return record;
    };
    encoders.for_each(ranges, [&](std::int64_t r, tokenizer::Encoder& encoder) {
      for (std::int64_t i = lines.size() * r / ranges; i < lines.size() * (r + 1) / ranges; ++i) {
        const LinePlace place{name, line - 1 + lines.number(i)};
        const std::string_view text = lines.line(i);
        out[static_cast<std::size_t>(r)] +=
            options.decode ? text_line(tokenizer, text, options.output.special, place)
                           : ids_line(tokenizer, encoder, settled(reader->read(text, place), place),
                                      options.output, place);
      }
    });
    for (const std::string& lines_out : out) write(lines_out);
    line += static_cast<std::int64_t>(std::ranges::count(batch, '\n'));
  }
}

}  // namespace trainx::corpus
