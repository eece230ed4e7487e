#include "corpus/tokenize_job.hpp"
#include "core/error.hpp"
#include "core/mapped_region.hpp"
#include "core/file_writer.hpp"
#include "core/files.hpp"
#include "core/hash.hpp"
#include "corpus/about_tokenizer.hpp"
#include "corpus/encoders.hpp"
#include <array>
#include <cstring>
#include <filesystem>
#include <limits>
#include <mutex>
#include <set>
#include <nlohmann/json.hpp>

namespace trainx::corpus {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

// what the header of a token file counts
constexpr std::int64_t most_tokens = std::numeric_limits<std::int32_t>::max();

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

struct PartHeader {
  std::int64_t documents = 0, tokens = 0, without_target = 0;
};

/// Empty where there is none.
std::string template_hash(const OutputOptions& o) { return o.chat ? o.chat->source().hash() : ""; }

/// What a part's result depends on.
std::string description_of(const tokenizer::Tokenizer& tokenizer, const std::vector<Input>& inputs,
                           const JobOptions& o) {
  ordered_json files = ordered_json::array();
  for (const Input& input : inputs)
    files.push_back({input.path, static_cast<int>(input.format), input.bytes, input.changed_ns});
  return ordered_json{{"version", 3},
                      {"tokenizer", hash_file_hex(tokenizer.path())},
                      {"inputs", std::move(files)},
                      {"fields",
                       {o.output.names.text, o.output.names.pair, o.output.names.label,
                        o.output.names.prompt, o.output.names.completion, o.output.names.messages,
                        o.output.names.target, o.output.names.words, o.output.names.tags}},
                      {"chat_template", template_hash(o.output)},
                      {"labels", o.labels.names()},
                      {"samples", o.output.samples},
                      {"special", o.output.special},
                      {"end_of_text", o.output.end_of_text}}
             .dump(1, ' ', false, ordered_json::error_handler_t::replace) +
         "\n";
}

/// The folder of finished parts.
class PartsFolder {
 public:
  PartsFolder(const std::string& path, const std::string& description) : path_(path), lock_(path) {
    const std::string described = path_ + "/job.json";
    if (fs::exists(described) && read_file(described) == description) return;
    for (const auto& entry : fs::directory_iterator(path_))
      if (entry.path().filename().string().starts_with("part-")) fs::remove(entry.path());
    write_file_atomic(described, description);
  }
  std::string file_of(std::int64_t part) const { return path_ + "/part-" + std::to_string(part); }
  void remove() const {
    std::error_code ignored;  // what is left of it takes room and no more
    fs::remove_all(path_, ignored);
  }

 private:
  std::string path_;
  FolderLock lock_;
};

PartHeader read_header(const std::string& path) {
  PartHeader header;
  const std::string start = read_file(path).substr(0, sizeof header);
  if (start.size() != sizeof header)
    throw UserError(ExitCode::bad_data, path + " is cut off: remove its folder and begin again");
  std::memcpy(&header, start.data(), sizeof header);
  return header;
}

void append_ids(const tokenizer::Ids& ids, std::size_t width, std::string& out) {
  // little-endian, as the file
  for (const std::int32_t id : ids) out.append(reinterpret_cast<const char*>(&id), width);
}

/// llm.c's: 256 int32, of which three say something.
std::string token_file_header(std::int64_t tokens, std::size_t width) {
  std::array<std::uint32_t, 256> words{};
  words[0] = width == 2 ? 20240520 : 20240801;
  words[1] = width == 2 ? 1 : 7;
  words[2] = static_cast<std::uint32_t>(tokens);
  return {reinterpret_cast<const char*>(words.data()), sizeof words};
}

void check_result(const JobReport& report, const JobOptions& o) {
  if (report.tokens == 0) throw UserError(ExitCode::bad_data, "the inputs have no tokens");
  if (report.without_target > 0 && report.without_target == report.documents)
    throw UserError(ExitCode::bad_data,
                    "none of the " + std::to_string(report.documents) +
                        " samples has a target: all labels are -100, so that nothing would be "
                        "learned; give answers, completions or tags");
  if (!o.output.samples && report.tokens > most_tokens)
    throw UserError(ExitCode::bad_data, o.out + " would have " + std::to_string(report.tokens) +
                                            " tokens, but a token file counts up to " +
                                            std::to_string(most_tokens) +
                                            ": tokenize some of the inputs into another file");
}

/// The names of classes that the inputs have. Where the first part has none, no other is asked.
std::set<std::string> names_in(const std::vector<Input>& inputs, const std::vector<Part>& parts,
                               const tokenizer::Tokenizer& tokenizer, const JobOptions& o,
                               Encoders& encoders) {
  OutputOptions collecting = o.output;
  collecting.collects_names = true;
  std::set<std::string> names;
  std::mutex mutex;
  const auto collect = [&](std::int64_t part, tokenizer::Encoder& encoder) {
    EncodedPart found =
        encode_part(inputs, parts[static_cast<std::size_t>(part)], tokenizer, collecting, encoder);
    const std::lock_guard lock(mutex);
    names.merge(found.names);
  };
  bool refused = false;
  try {
    encoders.for_each(std::min<std::int64_t>(1, std::ssize(parts)), collect);
  } catch (const UserError& refusal) {
    if (refusal.code() != ExitCode::bad_data) throw;
    refused = true;  // told with what else is refused
  }
  if (refused || !names.empty()) encoders.for_each_telling_all(std::ssize(parts), collect);
  return names;
}

void put_together(const PartsFolder& folder, std::int64_t parts, const JobOptions& o,
                  std::size_t width, const JobReport& report) {
  FileWriter out(o.out,
                 o.output.samples ? 0 : 1024 + report.tokens * static_cast<std::int64_t>(width));
  if (!o.output.samples) out.write(bytes_of(token_file_header(report.tokens, width)));
  for (std::int64_t part = 0; part < parts; ++part) {
    const std::string contents = read_file(folder.file_of(part));
    out.write(bytes_of(contents).subspan(sizeof(PartHeader)));
  }
  out.commit();
  fsync_folder(folder_of(o.out));
}

}  // namespace

void check_out(const std::string& out, bool overwrite) {
  if (!out.ends_with(".jsonl") && !out.ends_with(".bin"))
    throw UserError(
        ExitCode::usage,
        "--out " + out + " ends neither with .bin (a token file) nor with .jsonl (labelled lines)");
  if (!overwrite && fs::exists(out))
    throw UserError(ExitCode::cannot_create,
                    out +
                        " is there already; --overwrite replaces it, or name another file with "
                        "--out");
}

JobReport run_tokenize_job(const tokenizer::Tokenizer& tokenizer, const JobOptions& given,
                           const std::function<void(const JobProgress&)>& progress) {
  JobOptions o = given;
  o.output.samples = o.out.ends_with(".jsonl");
  check_out(o.out, o.overwrite);
  const std::size_t width = tokenizer.vocab_size() <= 65536 ? 2 : 4;
  JobReport report;
  const auto inputs = find_inputs(o.inputs, o.choice, &report.notes);
  const auto parts = cut_into_parts(inputs);
  Encoders encoders(tokenizer, o.threads);
  if (o.labels.empty() && o.output.samples)
    o.labels = LabelNames(names_in(inputs, parts, tokenizer, o, encoders));
  o.output.labels = &o.labels;
  report.label_names = o.labels.names();
  const PartsFolder folder(o.out + ".parts", description_of(tokenizer, inputs, o));

  report.parts = static_cast<std::int64_t>(parts.size());
  for (const Input& input : inputs) report.bytes += input.bytes;
  JobProgress now{0, report.bytes, 0};
  std::mutex mutex;
  const auto finished = [&](std::int64_t part, const PartHeader& header, bool before) {
    const std::lock_guard lock(mutex);
    for (const Slice& slice : parts[static_cast<std::size_t>(part)])
      now.bytes_done += static_cast<std::int64_t>(slice.end - slice.begin);
    report.documents += header.documents;
    report.tokens += header.tokens;
    report.without_target += header.without_target;
    report.parts_before += before;
    now.tokens = report.tokens;
    progress(now);
  };
  const auto encode = [&](std::int64_t part, tokenizer::Encoder& encoder) {
    const std::string path = folder.file_of(part);
    if (fs::exists(path)) return finished(part, read_header(path), true);
    const EncodedPart encoded =
        encode_part(inputs, parts[static_cast<std::size_t>(part)], tokenizer, o.output, encoder);
    const PartHeader header{encoded.documents, encoded.tokens, encoded.without_target};
    std::string contents(reinterpret_cast<const char*>(&header), sizeof header);
    if (o.output.samples)
      contents += encoded.lines;
    else
      append_ids(encoded.ids, width, contents);
    require_whole_files();
    write_file_atomic(path, contents);
    finished(part, header, false);
  };
  try {
    encoders.for_each_telling_all(report.parts, encode);
    check_result(report, o);
  } catch (const UserError& refusal) {
    if (refusal.code() == ExitCode::bad_data) folder.remove();
    throw;
  }
  put_together(folder, report.parts, o, width, report);
  ordered_json about{{"tokens", report.tokens},
                     {o.output.samples ? "samples" : "documents", report.documents},
                     {"bytes_of_text", report.bytes}};
  data::add_tokenizer(about_tokenizer(tokenizer), o.out, about);
  if (const std::string hash = template_hash(o.output); o.output.samples && !hash.empty())
    about["chat_template"] = hash;
  if (o.output.samples && o.output.chat && !o.output.chat->source().named.empty())
    about["chat_template_text"] = o.output.chat->source().named;
  if (!o.output.samples)
    about["end_of_text"] = o.output.end_of_text >= 0 ? ordered_json(o.output.end_of_text)
                                                     : ordered_json();
  if (!report.label_names.empty()) about["label_names"] = report.label_names;
  data::write_about(o.out, about);
  folder.remove();
  return report;
}

}  // namespace trainx::corpus
