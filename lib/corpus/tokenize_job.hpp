#pragma once
#include "corpus/part_encoder.hpp"
#include <cstdint>
#include <functional>

namespace trainx::corpus {

struct JobOptions {
  std::vector<std::string> inputs;
  std::string format;    // empty: by each file's ending
  std::string out;       // FILE.bin: token file; FILE.jsonl: labelled lines
  OutputOptions output;  // `samples` follows from `out`
  int threads = 1;
};

/// How far a job is.
struct JobProgress {
  std::int64_t bytes_done = 0, bytes = 0, tokens = 0;
};

struct JobReport {
  std::int64_t tokens = 0, documents = 0, bytes = 0;
  std::int64_t parts = 0, parts_before = 0;  // of those that an earlier try had done
};

/// Tokenizes files, several parts at a time. Parts lie in OUT.parts/ until all are done: the same
/// command again goes on after an interruption, where inputs, tokenizer and options are the same.
/// `progress` may be called from several threads, one at a time. OUT.json says what is in it, and
/// whose tokens these are. Throws UserError: 73 `out` is there already, 65 and 66 about the
/// inputs, 74.
JobReport run_tokenize_job(const tokenizer::Tokenizer& tokenizer, const JobOptions& options,
                           const std::function<void(const JobProgress&)>& progress);

}  // namespace trainx::corpus
