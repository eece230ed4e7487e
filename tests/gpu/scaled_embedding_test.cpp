#include "kernels/embedding/embedding.hpp"
#include "kernels/embedding/scale.hpp"
#include "gpu/operands.hpp"

namespace scaled_embedding_test {

using namespace trainx::kernels;

namespace {

const std::vector<std::int64_t> sample_positions{5, 1ll << 35, 0};

template <class T>
void check_embedding() {
  for (const std::int64_t columns : {0, 1, 7, 8, 64, 771, 1152})
    for (const std::int64_t samples : {0, 1, 3})
      for (const std::size_t shift : {0u, 1u})
        for (const bool placed : {false, true})
          for (const bool alone : {false, true})
            for (const bool packed : {false, true})
              for (const bool dropped : {false, true}) {
                const std::int64_t length = 11, rows = samples * length, vocab = 29;
                INFO("columns " << columns << " samples " << samples << " shift " << shift
                                << " placed " << placed << " packed " << packed << " dropped "
                                << dropped << " bytes " << sizeof(T));
                const auto tokens = random_integers(rows, vocab, 1);
                std::vector<std::int32_t> starts;
                for (std::int64_t r = 0; r < rows; ++r)
                  starts.push_back(
                      r % length == 10 ? -1 : static_cast<std::int32_t>(r % length / 4 * 4));
                const auto word = random_elements<T>(vocab * columns, 2),
                           position = random_elements<T>(length * columns, 3);
                std::vector<T> want(static_cast<std::size_t>(rows * columns));
                const DropoutKey key{0.2, 77, 1, 2};
                const double scale = 33.9411;  // sqrt(1152), no power of two
                Embedding<T> op{rows,
                                columns,
                                length,
                                tokens.data(),
                                nullptr,
                                word.data(),
                                placed ? position.data() : nullptr,
                                nullptr,
                                want.data()};
                op.scales_word = alone;
                if (packed) op.document_starts = starts.data();
                scaled_embedding_reference(
                    op, scale,
                    dropped ? FusedDropout{key, sample_positions.data(), length, 0}
                            : FusedDropout{});
                const OnDevice<std::int32_t> d_tokens(tokens), d_starts(starts);
                const OnDevice<T> d_word(word, shift), d_position(position, shift),
                    out(std::vector<T>(want.size()), shift);
                const OnDevice<std::int64_t> d_positions(sample_positions);
                op.tokens = d_tokens.data(), op.word = d_word.data(), op.out = out.data();
                op.position = placed ? d_position.data() : nullptr;
                if (packed) op.document_starts = d_starts.data();
                require_success(
                    scaled_embedding(
                        op, scale,
                        dropped ? FusedDropout{key, d_positions.data(), length, 0} : FusedDropout{},
                        nullptr),
                    "scaled_embedding");
                CHECK(same_bits(out.host(), want));
              }
}

template <class T>
void check_scale() {
  for (const std::int64_t n : {0, 1, 7, 8, 9, 2048, 4099, 300'003})
    for (const std::size_t shift : {0u, 1u}) {
      INFO("n " << n << " shift " << shift);
      const auto x = random_elements<T>(n, 1);
      std::vector<T> want(x.size());
      scale_reference(want.data(), x.data(), n, 33.9411);
      const OnDevice<T> in(x, shift), out(want, shift);
      require_success(scale(out.data(), in.data(), n, 33.9411, nullptr), "scale");
      CHECK(same_bits(out.host(), want));
      require_success(scale(in.data(), in.data(), n, 33.9411, nullptr), "scale");
      CHECK(same_bits(in.host(), want));
    }
}

}  // namespace

TEST_CASE("scaled embeddings, with positions or without, have the bits of their reference",
          "[gpu]") {
  TRAINX_NEEDS_GPU();
  check_embedding<float>();
  check_embedding<Bf16>();
  check_embedding<Fp16>();
}

TEST_CASE("scaled elements have the bits of their reference", "[gpu]") {
  TRAINX_NEEDS_GPU();
  check_scale<float>();
  check_scale<Bf16>();
  check_scale<Fp16>();
}

}  // namespace scaled_embedding_test
