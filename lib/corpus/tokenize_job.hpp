#pragma once
#include "corpus/part_encoder.hpp"
#include <cstdint>
#include <functional>

namespace trainx::corpus {

struct JobOptions {
  std::vector<std::string> inputs;
  InputChoice choice;
  std::string out;       // FILE.bin: token file; FILE.jsonl: labelled lines
  OutputOptions output;  // `samples` follows from `out`
  int threads = 1;
  bool overwrite = false;  // replaces `out`
  // of classes; empty: those that the inputs have, sorted
  LabelNames labels = {};
};

/// How far a job is.
struct JobProgress {
  std::int64_t bytes_done = 0, bytes = 0, tokens = 0;
};

struct JobReport {
  std::int64_t tokens = 0, documents = 0, bytes = 0;
  std::int64_t parts = 0, parts_before = 0;  // of those that an earlier try had done
  std::int64_t without_target = 0;           // samples of which nothing is learned
  std::vector<std::string> notes;            // what was left out of folders
  std::vector<std::string> label_names;      // of the classes; empty: they have none
};

/// Throws UserError: 2 `out` has another ending, 73 it is there already.
void check_out(const std::string& out, bool overwrite);

/// Tokenizes files, several parts at a time. Parts lie in OUT.parts/ until all are done: the same
/// command again goes on after an interruption, where inputs, tokenizer and options are the same.
/// `progress` may be called from several threads, one at a time. OUT.json says what is in it, and
/// whose tokens these are. Throws UserError as check_out, 65 and 66 about the inputs, all of them
/// at once, 74. What is refused leaves nothing behind.
JobReport run_tokenize_job(const tokenizer::Tokenizer& tokenizer, const JobOptions& options,
                           const std::function<void(const JobProgress&)>& progress);

}  // namespace trainx::corpus
