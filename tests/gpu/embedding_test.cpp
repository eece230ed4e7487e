#include "kernels/embedding/embedding.hpp"
#include "gpu/operands.hpp"
#include "kernels/embedding/embedding_backward.hpp"

namespace embedding_test {

using namespace trainx::kernels;

namespace {

const std::vector<std::int64_t> sample_positions{5, 1ll << 35, 0, 12, 3};

template <class T>
void check_forward() {
  const std::int64_t columns = GENERATE(0, 1, 7, 8, 64, 768, 771, 1600);
  for (const std::int64_t length : {1, 33})
    for (const std::size_t shift : {0u, 1u})
      for (const bool typed : {false, true})
        for (const bool dropped : {false, true})
          for (const std::int64_t samples : {0, 1, 5}) {
            const std::int64_t rows = samples * length, vocab = 101;
            INFO("columns " << columns << " length " << length << " shift " << shift << " typed "
                            << typed << " dropped " << dropped << " samples " << samples);
            const auto tokens = random_integers(rows, vocab, 1),
                       types = random_integers(rows, 2, 2);
            const auto word = random_elements<T>(vocab * columns, 3),
                       position = random_elements<T>(length * columns, 4),
                       type = random_elements<T>(2 * columns, 5);
            std::vector<T> want(static_cast<std::size_t>(rows * columns));
            const DropoutKey key{0.2, 77, 1, 2};
            embedding_reference(
                Embedding<T>{rows, columns, length, tokens.data(), typed ? types.data() : nullptr,
                             word.data(), position.data(), typed ? type.data() : nullptr,
                             want.data()},
                dropped ? FusedDropout{key, sample_positions.data(), length, 0} : FusedDropout{});
            const OnDevice<std::int32_t> d_tokens(tokens), d_types(types);
            const OnDevice<T> d_word(word, shift), d_position(position, shift), d_type(type, shift),
                out(std::vector<T>(want.size()), shift);
            const OnDevice<std::int64_t> d_positions(sample_positions);
            require_success(
                embedding(
                    Embedding<T>{rows, columns, length, d_tokens.data(),
                                 typed ? d_types.data() : nullptr, d_word.data(), d_position.data(),
                                 typed ? d_type.data() : nullptr, out.data()},
                    dropped ? FusedDropout{key, d_positions.data(), length, 0} : FusedDropout{},
                    nullptr),
                "embedding");
            CHECK(same_bits(out.host(), want));
          }
}

enum class Way { sorted, small };

template <class T>
std::vector<float> device_of(const std::vector<T>& d, const std::vector<std::int32_t>& tokens,
                             std::int64_t columns, std::int64_t vocab, bool accumulate,
                             std::int64_t without, const std::vector<float>& before,
                             std::size_t shift, Way way) {
  const auto rows = static_cast<std::int64_t>(tokens.size());
  const OnDevice<T> in(d, shift);
  const OnDevice<std::int32_t> d_tokens(tokens);
  const OnDevice<float> table(before, shift);
  const EmbeddingBackward<T> op{rows,         columns,    vocab,  in.data(), d_tokens.data(),
                                table.data(), accumulate, without};
  if (way == Way::sorted) {
    const OnDevice<unsigned char> scratch(std::vector<unsigned char>(
        static_cast<std::size_t>(embedding_backward_scratch_bytes(rows, columns)), 0xff));
    require_success(embedding_backward(op, scratch.data(), nullptr), "embedding_backward");
    scratch.host();  // its guards
    return table.host();
  }
  const Folding folding(type_embedding_backward_partial_bytes(columns));
  require_success(type_embedding_backward(op, folding.memory(), nullptr),
                  "type_embedding_backward");
  folding.check();
  return table.host();
}

template <class T>
void compare(const std::vector<std::int32_t>& tokens, std::int64_t columns, std::int64_t vocab,
             std::int64_t without, std::size_t shift, Way way) {
  const auto rows = static_cast<std::int64_t>(tokens.size());
  const auto d = random_elements<T>(rows * columns, 1, 1, 0.25f);
  const auto before = random_elements<float>(vocab * columns, 2);
  for (const bool accumulate : {false, true}) {
    INFO("rows " << rows << " columns " << columns << " vocab " << vocab << " without " << without
                 << " shift " << shift << " accumulate " << accumulate);
    auto want = before;
    embedding_backward_reference(EmbeddingBackward<T>{rows, columns, vocab, d.data(), tokens.data(),
                                                      want.data(), accumulate, without});
    check_close(device_of(d, tokens, columns, vocab, accumulate, without, before, shift, way), want,
                1e-5, 1e-5 * (1 + std::sqrt(static_cast<double>(rows))), "d_table");
  }
}

template <class T>
void check_backward() {
  const std::int64_t columns = GENERATE(0, 1, 7, 8, 64, 768, 771, 1600, 4096);
  for (const std::int64_t rows : {0, 1, 31, 32, 33, 500})
    for (const std::size_t shift : {0u, 1u}) {
      // long runs
      compare<T>(random_integers(rows, 10, 3), columns, 10, -1, shift, Way::sorted);
      // short ones
      compare<T>(random_integers(rows, 1000, 3), columns, 1000, 3, shift, Way::sorted);
      compare<T>(random_integers(rows, 4, 3), columns, 4, 1, shift, Way::sorted);
      // one over all pieces
      compare<T>(random_integers(rows, 1, 3), columns, 3, -1, shift, Way::sorted);
      compare<T>(random_integers(rows, 2, 3), columns, 2, -1, shift, Way::small);
      compare<T>(random_integers(rows, 3, 3), columns, 5, 1, shift, Way::small);
    }
}

template <class T>
void check_positions() {
  const std::int64_t columns = GENERATE(0, 1, 7, 8, 768, 771);
  for (const std::int64_t samples : {0, 1, 7, 9, 16})
    for (const std::size_t shift : {0u, 1u})
      for (const bool accumulate : {false, true}) {
        const std::int64_t length = 17, positions = 20, rows = samples * length;
        INFO("columns " << columns << " samples " << samples << " shift " << shift << " accumulate "
                        << accumulate);
        const auto d = random_elements<T>(rows * columns, 1);
        auto want = random_elements<float>(positions * columns, 2);
        const OnDevice<float> table(want, shift);
        const OnDevice<T> in(d, shift);
        position_backward_reference(PositionBackward<T>{rows, columns, length, positions, d.data(),
                                                        want.data(), accumulate});
        require_success(position_backward(PositionBackward<T>{rows, columns, length, positions,
                                                              in.data(), table.data(), accumulate},
                                          nullptr),
                        "position_backward");
        check_close(table.host(), want, 1e-5, 1e-5, "d_table");
      }
}

/// Of [samples, length]: documents of up to `most` tokens, and padding behind them in every third
/// sample.
std::vector<std::int32_t> random_starts(std::int64_t samples, std::int64_t length,
                                        std::int64_t most, unsigned seed) {
  std::vector<std::int32_t> starts;
  const auto cuts = random_integers(samples * length + 1, most, seed);
  for (std::int64_t b = 0; b < samples; ++b) {
    const std::int64_t real = b % 3 == 2 ? length / 2 : length;
    for (std::int64_t t = 0, start = 0; t < length; ++t) {
      if (cuts[static_cast<std::size_t>(b * length + t)] == 0) start = t;
      starts.push_back(static_cast<std::int32_t>(t < real ? start : -1));
    }
  }
  return starts;
}

template <class T>
void check_document_positions() {
  const std::int64_t columns = GENERATE(0, 1, 7, 8, 768, 771);
  for (const std::int64_t length : {1, 33, 300})
    // documents of one token, short ones, one a row
    for (const std::int64_t most : {1, 8, 1000})
      for (const std::size_t shift : {0u, 1u})
        for (const std::int64_t samples : {0, 1, 5}) {
          const std::int64_t rows = samples * length, vocab = 101, positions = length + 3;
          INFO("columns " << columns << " length " << length << " documents " << most << " shift "
                          << shift << " samples " << samples);
          const auto tokens = random_integers(rows, vocab, 1),
                     starts = random_starts(samples, length, most, 6);
          const auto word = random_elements<T>(vocab * columns, 3),
                     position = random_elements<T>(positions * columns, 4),
                     d = random_elements<T>(rows * columns, 5);
          const OnDevice<std::int32_t> d_tokens(tokens, shift), d_starts(starts, shift);
          const OnDevice<T> d_word(word, shift), d_position(position, shift), in(d, shift),
              out(std::vector<T>(d.size()), shift);
          Embedding<T> op{rows,        columns,         length,  tokens.data(), nullptr,
                          word.data(), position.data(), nullptr, nullptr,       starts.data()};
          std::vector<T> want(d.size());
          op.out = want.data();
          embedding_reference(op, {});
          op.tokens = d_tokens.data(), op.word = d_word.data(), op.position = d_position.data(),
          op.out = out.data(), op.document_starts = d_starts.data();
          require_success(embedding(op, {}, nullptr), "embedding");
          CHECK(same_bits(out.host(), want));
          for (const bool accumulate : {false, true}) {
            const auto before = random_elements<float>(positions * columns, 2);
            auto sums = before;
            position_backward_reference(PositionBackward<T>{rows, columns, length, positions,
                                                            d.data(), sums.data(), accumulate,
                                                            starts.data()});
            const OnDevice<unsigned char> scratch(std::vector<unsigned char>(
                static_cast<std::size_t>(document_position_backward_scratch_bytes(rows, columns)),
                0xff));
            std::vector<float> first;
            for (int repeat = 0; repeat < 3; ++repeat) {
              const OnDevice<float> table(before, shift);
              require_success(document_position_backward(
                                  PositionBackward<T>{rows, columns, length, positions, in.data(),
                                                      table.data(), accumulate, d_starts.data()},
                                  scratch.data(), nullptr),
                              "document_position_backward");
              if (repeat == 0)
                check_close(first = table.host(), sums, 1e-5,
                            1e-5 * (1 + std::sqrt(static_cast<double>(rows))), "d_table");
              else
                CHECK(same_bits(table.host(), first));
            }
            scratch.host();  // its guards
          }
        }
}

}  // namespace

TEMPLATE_TEST_CASE("embeddings have the bits of their reference", "[gpu]", float, Bf16, Fp16) {
  TRAINX_NEEDS_GPU();
  check_forward<TestType>();
}

TEMPLATE_TEST_CASE("gradients of embeddings equal their reference", "[gpu]", float, Bf16, Fp16) {
  TRAINX_NEEDS_GPU();
  check_backward<TestType>();
}

TEST_CASE("gradients of embeddings of many tokens equal their reference", "[gpu]") {
  TRAINX_NEEDS_GPU();
  compare<Bf16>(random_integers(40'000, 50257, 3), 64, 50257, 50256, 0, Way::sorted);
  compare<Bf16>(random_integers(200'000, 300'000, 3), 8, 300'000, -1, 0, Way::sorted);
}

TEMPLATE_TEST_CASE("gradients of position embeddings equal their reference", "[gpu]", float, Bf16,
                   Fp16) {
  TRAINX_NEEDS_GPU();
  check_positions<TestType>();
}

TEMPLATE_TEST_CASE(
    "positions that count inside documents: embeddings have the bits of their reference, gradients "
    "equal it",
    "[gpu]", float, Bf16, Fp16) {
  TRAINX_NEEDS_GPU();
  check_document_positions<TestType>();
}

TEST_CASE("NaN reaches its token alone; repeats of the embedding's gradient give the same bits",
          "[gpu]") {
  TRAINX_NEEDS_GPU();
  const std::int64_t rows = 20'000, columns = 768, vocab = 500;
  auto tokens = random_integers(rows, vocab, 3);
  for (std::int64_t r = 0; r < rows; r += 3) tokens[r] = 7;  // one token is frequent
  auto d = random_elements<Bf16>(rows * columns, 1);
  const std::vector<float> before(static_cast<std::size_t>(vocab * columns));
  const auto first = device_of(d, tokens, columns, vocab, true, -1, before, 0, Way::sorted);
  for (int repeat = 0; repeat < 10; ++repeat)
    CHECK(same_bits(device_of(d, tokens, columns, vocab, true, -1, before, 0, Way::sorted), first));
  narrow(std::numeric_limits<float>::quiet_NaN(), d[9'999 * columns + 5]);
  const auto got = device_of(d, tokens, columns, vocab, false, -1, before, 0, Way::sorted);
  for (std::int64_t i = 0; i < vocab * columns; ++i)
    if (std::isnan(got[i]) != (i == tokens[9'999] * columns + 5)) FAIL("element " << i);
}

}  // namespace embedding_test
