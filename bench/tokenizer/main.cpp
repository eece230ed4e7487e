// Times encoding, for bench/tokenizers, which takes turns with the reference.
//   bench_tokenizer TOKENIZER LINES.jsonl      reads a number of threads a line, encodes all texts
//   with so many, prints {"seconds", "tokens", "bytes"}
#include "core/error.hpp"
#include "core/files.hpp"
#include "corpus/encoders.hpp"
#include "data/labelled/line_index.hpp"
#include "corpus/record.hpp"
#include <chrono>
#include <cstdio>
#include <iostream>

using namespace trainx;

int main(int count, char** arguments) {
  if (count != 3) {
    std::fprintf(stderr, "usage: bench_tokenizer TOKENIZER LINES.jsonl\n");
    return 2;
  }
  try {
    const auto tokenizer = tokenizer::open_tokenizer(arguments[1]);
    const std::string path = arguments[2], contents = read_file(path);
    const data::labelled::LineIndex lines(std::as_bytes(std::span(contents)));
    const auto reader = corpus::make_json_reader({});
    std::vector<std::string> texts;
    std::size_t bytes = 0;
    for (std::int64_t i = 0; i < lines.size(); ++i) {
      texts.push_back(reader->read(lines.line(i), {path, i + 1}).text);
      bytes += texts.back().size();
    }
    for (int threads = 0; std::cin >> threads;) {
      std::vector<tokenizer::Ids> ids(texts.size());
      corpus::Encoders encoders(*tokenizer, threads);
      const auto start = std::chrono::steady_clock::now();
      encoders.for_each(static_cast<std::int64_t>(texts.size()), [&](std::int64_t i,
                                                                     tokenizer::Encoder& encoder) {
        encoder.append(texts[static_cast<std::size_t>(i)], ids[static_cast<std::size_t>(i)]);
      });
      const double seconds =
          std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      std::size_t tokens = 0;
      for (const auto& each : ids) tokens += each.size();
      std::printf("{\"seconds\": %.6f, \"tokens\": %zu, \"bytes\": %zu}\n", seconds, tokens, bytes);
      std::fflush(stdout);
    }
  } catch (const UserError& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return static_cast<int>(error.code());
  }
}
