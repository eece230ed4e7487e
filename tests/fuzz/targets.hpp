// Readers of what comes from elsewhere, each as a function of its bytes. libFuzzer feeds them what
// it makes up (libfuzzer_entry.cpp), the plain tests what lies in corpus/ (replay_main.cpp).
#pragma once
#include "fuzz/ways.hpp"

namespace trainx::fuzz {

/// Each returns where the file was read, or refused in a way that a user can mend; a defect leaves
/// as an exception or ends the process.
void fuzz_safetensors(Bytes file, const Ways& ways);
void fuzz_tokens(Bytes file, const Ways& ways);
void fuzz_text(Bytes file, const Ways& ways);
void fuzz_jsonl(Bytes file, const Ways& ways);
void fuzz_csv(Bytes file, const Ways& ways);
void fuzz_recipe(Bytes file, const Ways& ways);
void fuzz_config(Bytes file, const Ways& ways);
void fuzz_import(Bytes file, const Ways& ways);
void fuzz_tokenizer(Bytes file, const Ways& ways);
void fuzz_corpus(Bytes file, const Ways& ways);
void fuzz_greeting(Bytes input, const Ways& ways);

}  // namespace trainx::fuzz
