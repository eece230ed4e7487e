// Readers of what comes from elsewhere, each as a function of its bytes. libFuzzer feeds them what
// it makes up (libfuzzer_entry.cpp), the plain tests what lies in corpus/ (replay_main.cpp).
#pragma once
#include <cstddef>
#include <span>

namespace trainx::fuzz {

using Bytes = std::span<const std::byte>;

/// Each returns where the file was read, or refused in a way that a user can mend; a defect leaves
/// as an exception or ends the process.
void fuzz_safetensors(Bytes file);
void fuzz_tokens(Bytes file);
void fuzz_text(Bytes file);
void fuzz_jsonl(Bytes file);
void fuzz_csv(Bytes file);
void fuzz_recipe(Bytes file);
void fuzz_config(Bytes file);
void fuzz_import(Bytes file);
void fuzz_tokenizer(Bytes file);
void fuzz_corpus(Bytes file);
void fuzz_greeting(Bytes input);

}  // namespace trainx::fuzz
