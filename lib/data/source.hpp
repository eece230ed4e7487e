// Where samples come from. Torch-free.
#pragma once
#include "options/model/task.hpp"
#include "core/field_spec.hpp"
#include "options/data/options.hpp"
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace trainx::data {

constexpr std::int32_t no_target = -100;

/// One row of T tokens to fill: targets[i] is what is to be predicted at i (-100: nothing). What
/// comes in is a row of padding: tokens and token_types 0, no targets, length T, no label, values
/// NaN, one document; a shorter sample writes its part and its length. token_types, length, label,
/// document_starts, values and target_tokens are empty where the model has no use for them. Targets
/// of another text than the tokens' are as many as that has.
struct SampleView {
  std::span<std::int32_t> tokens, targets;
  std::span<std::int32_t> token_types = {};  // which segment a token belongs to
  std::span<std::int32_t> length = {};       // one element: tokens before the padding
  std::span<std::int32_t> label = {};        // one element: class of the sample
  // [T]: where in the row a token's document begins; -1: padding
  std::span<std::int32_t> document_starts = {};
  std::span<float> values = {};                // what the sample's target is, where that is numbers
  std::span<std::int32_t> target_tokens = {};  // of another text: what is read at each target
  // of each of SourceOptions::fields; comes in as zeros
  std::vector<std::span<std::byte>> fields = {};
};

/// One source of a mixture: samples of its epoch, and its share.
struct MixturePart {
  std::int64_t samples = 0;
  double weight = 0;
};

/// A file that samples come from.
struct DataFile {
  std::string path;
  std::int64_t bytes = 0;
};

enum class Split : std::uint8_t { train, eval };

/// What the samples of a file are like.
struct FileFindings {
  std::string path;
  std::int64_t samples = 0;
  std::int64_t without_target = 0;  // nothing of them is learned
  std::int64_t cut = 0;             // by data.truncate
};
/// Which samples of a source count, by their index.
using Counted = std::function<bool(std::int64_t index)>;

/// Thread-safe random access to samples.
class Source {
 public:
  virtual ~Source() = default;
  virtual std::int64_t samples() const = 0;
  virtual std::int64_t vocab_size() const = 0;  // 0: unknown (token files)
  /// Tokens of sample `index`, at most sequence_length; 0: samples of this source always fill their
  /// row.
  virtual std::int64_t length(std::int64_t /*index*/) const { return 0; }
  /// Of its targets, where they are of another text; at most target_length.
  virtual std::int64_t target_length(std::int64_t /*index*/) const { return 0; }
  /// Of a mixture: the sources whose samples follow one another here. Empty: this is a single
  /// source.
  virtual std::vector<MixturePart> parts() const { return {}; }
  /// What the samples follow from, in order; of generated data none.
  virtual std::vector<DataFile> files() const { return {}; }
  /// Of each file, of the samples that `counted` says. Empty where samples are not looked through
  /// before training, or always have targets.
  virtual std::vector<FileFindings> findings(const Counted& /*counted*/) const { return {}; }
  /// Fills sample `index`. True where its targets are given (also where all are -100); false where
  /// the row has none yet, so that masks are drawn for masked_lm. Throws UserError 65 naming file
  /// and offset for a token id of `vocab_limit` or more.
  virtual bool read(std::int64_t index, SampleView out) const = 0;
};

/// What a model learns from a sample: the next token, tokens in their own place (as given, or
/// masked out later), the class of each token, the sample's class, real numbers, a number from 0 to
/// 1 for each of several labels, another text.
enum class Targets : std::uint8_t {
  next_token,
  own_token,
  token_class,
  label,
  numbers,
  shares,
  another_text
};
Targets targets_of(options::Task task, options::ProblemType problem =
                                           options::ProblemType::single_label_classification);
/// Is the target of a sample a list of numbers?
constexpr bool are_numbers(Targets t) { return t == Targets::numbers || t == Targets::shares; }

struct SourceOptions {
  std::int64_t sequence_length = 0;
  std::int64_t vocab_limit = 0;  // ids must be below; 0: no limit
  std::uint64_t seed = 0;        // of generated data
  // look through files for malformed contents at once; false: sizes alone, what `plan` and
  // `validate` need
  bool scan = true;
  Targets targets = Targets::next_token;
  // classes must be below; numbers and shares are as many; 0: no limit
  std::int64_t num_labels = 0;
  std::int64_t token_type_limit = 0;  // token_type_ids must be below; 0: no limit
  std::int64_t target_length = 0;     // Targets::another_text
  // what a model of the user's own reads beside tokens, or instead of them
  std::vector<FieldSpec> fields = {};
  bool reads_tokens = true;  // false: samples have fields alone, and count as one token
};
/// Throws UserError: 66 file missing, 65 malformed, truncated or too short, 78 too few samples for
/// held_out. Null if the split has no data (neither eval nor held_out is given).
std::unique_ptr<Source> open_source(const options::DataOptions& options, Split split,
                                    const SourceOptions& how);

/// Text to ids and back, where the source has a vocabulary (stories: words, text: bytes); null for
/// token files.
class Vocabulary {
 public:
  virtual ~Vocabulary() = default;
  virtual std::int64_t size() const = 0;
  // throws UserError 65 for a word that is not in it
  virtual std::vector<std::int32_t> encode(std::string_view text) const = 0;
  virtual std::string decode(std::span<const std::int32_t> ids) const = 0;
};
std::unique_ptr<Vocabulary> make_vocabulary(const options::DataOptions& options);

/// Nats per token that no model can go below on average: the mean of -ln p of the targets of a
/// split's samples (train: the first up to 4096); nothing where it is not known (everything but
/// stories).
std::optional<double> entropy_floor_nats(const options::DataOptions& options, Split split,
                                         const SourceOptions& how);

}  // namespace trainx::data
