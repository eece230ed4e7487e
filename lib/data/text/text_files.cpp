#include "data/text/text_files.hpp"
#include "core/error.hpp"
#include "core/refusals.hpp"
#include "data/foreign_file.hpp"
#include "data/packed_file.hpp"
#include "data/text/utf8.hpp"
#include <algorithm>
#include <filesystem>

namespace trainx::data::text {
namespace {

namespace fs = std::filesystem;
constexpr std::int64_t byte_values = 256;

std::vector<std::string> files_of(const std::string& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return {path};
  std::vector<std::string> files;
  fs::recursive_directory_iterator at(path, error), end;
  for (; !error && at != end; at.increment(error)) {
    if (at->path().filename().string().starts_with('.')) {
      at.disable_recursion_pending();
    } else if (at->is_regular_file(error)) {
      files.push_back(at->path().string());
    }
  }
  if (error)
    throw UserError(ExitCode::input_missing,
                    "cannot read data folder " + path + ": " + error.message());
  if (files.empty()) throw UserError(ExitCode::bad_data, "data folder " + path + " has no files");
  std::sort(files.begin(), files.end());
  return files;
}

class TextSource final : public Source {
 public:
  TextSource(std::vector<MappedFile> files, const std::string& name, const SourceOptions& how)
      : files_(std::move(files)), length_(how.sequence_length), limit_(how.vocab_limit) {
    Refusals refusals;
    for (const MappedFile& file : files_) {
      refuse_foreign(file);
      total_ += static_cast<std::int64_t>(file.bytes().size());
      ends_.push_back(total_);
      if (how.scan) refusals.collect([&] { check(file); });
    }
    refusals.throw_all();
    if (total_ == 0) throw UserError(ExitCode::bad_data, "text data " + name + " is empty");
    if (total_ < length_ + 1) {
      throw UserError(ExitCode::bad_data,
                      "text data " + name + " has " + std::to_string(total_) +
                          " bytes, too few for one sample of " + std::to_string(length_) +
                          " and its last target: shorten data.sequence_length or give more data");
    }
  }

  std::int64_t samples() const override { return (total_ - 1) / length_; }
  std::int64_t vocab_size() const override { return byte_values; }
  std::vector<DataFile> files() const override {
    std::vector<DataFile> all;
    for (const MappedFile& file : files_)
      all.push_back({file.path(), static_cast<std::int64_t>(file.bytes().size())});
    return all;
  }
  bool read(std::int64_t index, SampleView out) const override {
    if (index < 0 || index >= samples())
      throw InternalError("text: sample " + std::to_string(index) + " of " +
                          std::to_string(samples()));
    const std::int64_t first = index * length_;
    auto file = static_cast<std::size_t>(std::upper_bound(ends_.begin(), ends_.end(), first) -
                                         ends_.begin());
    for (std::int64_t i = 0; i <= length_; ++i) {
      while (first + i >= ends_[file]) ++file;  // also over empty files
      const std::int64_t offset =
          first + i - (ends_[file] - static_cast<std::int64_t>(files_[file].bytes().size()));
      const std::int32_t byte = byte_at(files_[file], offset);
      if (i > 0) out.targets[static_cast<std::size_t>(i - 1)] = byte;
      if (i < length_) out.tokens[static_cast<std::size_t>(i)] = byte;
    }
    return true;
  }

 private:
  void check(const MappedFile& file) const {
    const auto bad = find_malformed_utf8(file.bytes());
    if (bad) {
      throw UserError(ExitCode::bad_data, "text file " + file.path() + " is not UTF-8 at byte " +
                                              std::to_string(*bad) +
                                              ": convert it, or take it out of the data");
    }
    if (limit_ <= 0 || limit_ >= byte_values) return;
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(file.bytes().size()); ++i)
      byte_at(file, i);
  }

  std::int32_t byte_at(const MappedFile& file, std::int64_t offset) const {
    const auto byte = static_cast<std::int32_t>(file.bytes()[static_cast<std::size_t>(offset)]);
    if (limit_ > 0 && byte >= limit_) {
      throw UserError(ExitCode::bad_data,
                      "text file " + file.path() + " has token id " + std::to_string(byte) +
                          " at byte " + std::to_string(offset) + ", beyond the vocabulary of " +
                          std::to_string(limit_) + ": leave model.options.vocab_size out");
    }
    return byte;
  }

  std::vector<MappedFile> files_;
  std::vector<std::int64_t> ends_;  // bytes up to and including file i
  std::int64_t total_ = 0, length_, limit_;
};

class ByteVocabulary final : public Vocabulary {
 public:
  std::int64_t size() const override { return byte_values; }
  std::vector<std::int32_t> encode(std::string_view text) const override {
    std::vector<std::int32_t> ids;
    for (const char c : text) ids.push_back(static_cast<unsigned char>(c));
    return ids;
  }
  std::string decode(std::span<const std::int32_t> ids) const override {
    std::string text;
    for (const std::int32_t id : ids) {
      if (id < 0 || id >= byte_values)
        throw InternalError("text: token id " + std::to_string(id) + " is no byte");
      text.push_back(static_cast<char>(static_cast<unsigned char>(id)));
    }
    return text;
  }
};

}  // namespace

std::unique_ptr<Source> open_text(const std::vector<std::string>& paths, const SourceOptions& how) {
  std::vector<MappedFile> files;
  Refusals refusals;
  for (const std::string& path : paths)
    refusals.collect([&] {
      for (const std::string& file : files_of(path))
        refusals.collect([&] { refuse_foreign(files.emplace_back(open_unpacked(file))); });
    });
  refusals.throw_all();
  const std::string more = " and " + std::to_string(paths.size() - 1) + " more";
  return open_text(std::move(files), paths.front() + (paths.size() == 1 ? "" : more), how);
}

std::unique_ptr<Source> open_text(std::vector<MappedFile> files, const std::string& name,
                                  const SourceOptions& how) {
  return std::make_unique<TextSource>(std::move(files), name, how);
}

std::unique_ptr<Vocabulary> make_byte_vocabulary() { return std::make_unique<ByteVocabulary>(); }

}  // namespace trainx::data::text
