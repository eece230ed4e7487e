#include "kernels/attention/cached_attention.hpp"
#include "gpu/attention_case.hpp"
#include "kernels/attention/document_attention.hpp"

namespace cached_attention_test {

using namespace trainx::kernels;

namespace {

/// The last rows of a whole causal sample.
template <class T>
std::vector<T> reference(const std::vector<T>& qkv, const CachedAttentionSize& s) {
  const std::int64_t tokens = s.past + s.rows, width = s.heads * s.head_size;
  std::vector<float> out(static_cast<std::size_t>(tokens * width)),
      lse(static_cast<std::size_t>(s.heads * tokens));
  document_attention_reference(widened(qkv).data(), starts_of_last_rows(s.past, s.rows).data(),
                               nullptr, out.data(), lse.data(), nullptr,
                               {1, tokens, s.heads, s.head_size, true});
  std::vector<T> last(static_cast<std::size_t>(s.rows * width));
  for (std::size_t i = 0; i < last.size(); ++i)
    narrow(out[static_cast<std::size_t>(s.past * width) + i], last[i]);
  return last;
}

template <class T>
void check(const CachedAttentionSize& s, std::size_t shift) {
  const std::vector<T> qkv =
      random_elements<T>((s.past + s.rows) * 3 * s.heads * s.head_size, 3, 1.5F);
  const std::vector<T> want = reference(qkv, s);
  const OnDevice<T> in(qkv, shift), out(std::vector<T>(want.size()), shift),
      again(std::vector<T>(want.size()), shift);
  require_success(cached_attention(in.data(), out.data(), s, nullptr), "cached_attention");
  require_success(cached_attention(in.data(), again.data(), s, nullptr), "cached_attention");
  check_close(out.host(), want, rounding<T>, 4 * rounding<T>, "out");
  CHECK(same_bits(out.host(), again.host()));
}

}  // namespace

TEST_CASE("attention over a cache is that of the last rows of the whole", "[gpu]") {
  TRAINX_NEEDS_GPU();
  const std::int64_t head_size = GENERATE(1, 7, 32, 64, 65, 128, 256);
  for (const std::int64_t past : {0, 1, 3, 4, 31, 127, 128, 1000})
    for (const std::int64_t rows : {1, 2, 33})
      for (const std::size_t shift : {0U, 1U}) {
        const CachedAttentionSize s{past, rows, 3, head_size};
        INFO("past " << past << " rows " << rows << " head_size " << head_size << " shift "
                     << shift);
        check<float>(s, shift);
        check<Bf16>(s, shift);
        check<Fp16>(s, shift);
      }
}

TEST_CASE("attention over a cache: nothing to do, and what cannot be done", "[gpu]") {
  TRAINX_NEEDS_GPU();
  CHECK(cached_attention(static_cast<const float*>(nullptr), static_cast<float*>(nullptr),
                         {5, 0, 2, 8}, nullptr) == cudaSuccess);
  CHECK(cached_attention(static_cast<const float*>(nullptr), static_cast<float*>(nullptr),
                         {5, 1, 2, 257}, nullptr) == cudaErrorInvalidValue);
  CHECK(cached_attention(static_cast<const float*>(nullptr), static_cast<float*>(nullptr),
                         {-1, 1, 2, 8}, nullptr) == cudaErrorInvalidValue);
}

}  // namespace cached_attention_test
