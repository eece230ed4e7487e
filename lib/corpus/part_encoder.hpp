#pragma once
#include "corpus/chat/chat_template.hpp"
#include "corpus/inputs.hpp"
#include "corpus/label_names.hpp"
#include "corpus/masked_sample.hpp"
#include "corpus/record.hpp"
#include "data/mapped_file.hpp"
#include "tokenizer/tokenizer.hpp"
#include <cstdint>
#include <functional>
#include <set>
#include <string>

namespace trainx::corpus {

/// What comes out of raw text.
struct OutputOptions {
  FieldNames names;
  // a labelled line for each input line; else one stream of tokens
  bool samples = false;
  // of a stream: the second text of a pair follows the first; else it is refused
  bool pairs_in_stream = false;
  bool special = true;  // with the tokens that the tokenizer puts around a sample
  // behind each document of a stream, or each completion, that does not end with it; -1: none
  std::int32_t end_of_text = -1;
  const ChatTemplate* chat = nullptr;  // null: conversations are not rendered
  const LabelNames* labels = nullptr;  // null: classes have no names
  bool collects_names = false;         // records give the names of their classes and nothing else
};

/// Makes classes of the names in a record that becomes a sample. Throws UserError 65, also for a
/// field that may be meant for its label and is not read.
void settle_label(Record& record, const OutputOptions& options,
                  const data::labelled::LinePlace& place);

/// The sample of a line with a completion or a conversation. Throws UserError 65.
MaskedSample masked_sample(const Record& record, const tokenizer::Tokenizer& tokenizer,
                           const OutputOptions& options, tokenizer::Encoder& encoder,
                           const data::labelled::LinePlace& place);

/// What a part became.
struct EncodedPart {
  tokenizer::Ids ids;  // of a stream
  std::string lines;   // of samples
  std::int64_t documents = 0, tokens = 0;
  std::int64_t without_target = 0;  // samples of which nothing is learned
  std::set<std::string> names;      // of classes, where they are collected
};

/// Opens an input's file.
using OpenInput = std::function<data::MappedFile(const Input&)>;

/// Throws UserError 65: of each file of the part the first line and what is wrong there.
EncodedPart encode_part(const std::vector<Input>& inputs, const Part& part,
                        const tokenizer::Tokenizer& tokenizer, const OutputOptions& options,
                        tokenizer::Encoder& encoder, const OpenInput& open = open_input);

}  // namespace trainx::corpus
