// Which tiles kernels have on GPUs with little shared memory: 99 KiB a block on capability 8.6, 8.9
// and 12.0, 163 KiB on 8.0, 227 KiB on 9.0 and 10.0. The kernels themselves assert that they ask
// for as much as these tiles say.
#include "kernels/attention/attention_tiles.hpp"
#include "kernels/loss/cross_entropy_room.hpp"
#include "kernels/norm/layer_norm_backward_tiles.hpp"
#include "support/catch.hpp"
#include <array>
#include <tuple>

namespace kernel_tiles_test {

using namespace trainx::kernels;

namespace {

constexpr int kib = 1024;
constexpr std::array limits{99 * kib, 163 * kib, 227 * kib};

struct AttentionChoice {
  int width = 0, slices = 0, row_tiles = 0, warps = 0, bytes = 0;
  auto cut() const { return std::tuple(slices, row_tiles, warps); }
};

template <AttentionPass Pass, int ElementBytes>
AttentionChoice attention(const AttentionSize& size, int limit, int multiprocessors = 132) {
  return with_attention_tiles<Pass, ElementBytes>(size, multiprocessors, limit, [](auto tiles) {
    using Tiles = decltype(tiles);
    return AttentionChoice{Tiles::width, Tiles::slices, Tiles::row_tiles, Tiles::warps,
                           Tiles::shared_bytes(Pass, ElementBytes)};
  });
}

AttentionSize size_of(std::int64_t batch, std::int64_t tokens, std::int64_t heads,
                      std::int64_t head_size) {
  AttentionSize size;
  size.batch = batch, size.tokens = tokens, size.heads = heads, size.head_size = head_size;
  return size;
}

template <AttentionPass Pass, int ElementBytes>
void attention_fits() {
  for (const int limit : limits)
    for (std::int64_t head_size = 1; head_size <= largest_attention_head; ++head_size)
      for (const std::int64_t tokens : {1, 64, 128, 1024, 8192})
        for (const std::int64_t batch : {1, 2, 64})
          for (const int multiprocessors : {82, 132, 188}) {
            const AttentionChoice chosen = attention<Pass, ElementBytes>(
                size_of(batch, tokens, 12, head_size), limit, multiprocessors);
            INFO("head " << head_size << ", tokens " << tokens << ", limit " << limit);
            CHECK(chosen.bytes <= limit);
            CHECK(chosen.bytes > 0);
            CHECK(chosen.width >= head_size);
          }
}

struct NormChoice {
  int columns = 0, warps = 0, stages = 0, folded = 0, bytes = 0;
};

template <int ElementBytes, bool Rms>
NormChoice norm(std::int64_t columns, bool aligned, int limit) {
  return with_norm_tiles<ElementBytes, Rms>(columns, aligned, limit, [](auto tiles) {
    using Tiles = decltype(tiles);
    return NormChoice{Tiles::columns, Tiles::warps, Tiles::stages, Tiles::folded,
                      Tiles::shared_bytes(ElementBytes)};
  });
}

template <int ElementBytes, bool Rms>
void norm_fits() {
  for (const int limit : limits)
    for (std::int64_t columns = 1; columns <= 32768; ++columns)
      for (const bool aligned : {false, true}) {
        if (aligned && columns % 8 != 0) continue;
        const NormChoice chosen = norm<ElementBytes, Rms>(columns, aligned, limit);
        INFO("columns " << columns << ", aligned " << aligned << ", limit " << limit);
        if (!(chosen.bytes + norm_static_bytes <= limit && chosen.columns >= columns &&
              (chosen.stages > 0) == (aligned && columns <= 8192)))
          FAIL("these tiles do not do");
      }
}

}  // namespace

TEST_CASE("attention has tiles for each head size and type within any GPU's shared memory") {
  attention_fits<AttentionPass::forward, 2>();
  attention_fits<AttentionPass::forward, 4>();
  attention_fits<AttentionPass::query_gradient, 2>();
  attention_fits<AttentionPass::query_gradient, 4>();
  attention_fits<AttentionPass::key_value_gradient, 2>();
  attention_fits<AttentionPass::key_value_gradient, 4>();
}

TEST_CASE("attention of 16 bits has the same tiles on every GPU") {
  for (const std::int64_t head_size : {32, 64, 128, 256})
    for (const std::int64_t tokens : {64, 8192}) {
      const AttentionSize size = size_of(1, tokens, 12, head_size);
      constexpr AttentionPass pass = AttentionPass::query_gradient;
      CHECK(attention<pass, 2>(size, limits.front()).cut() ==
            attention<pass, 2>(size, limits.back()).cut());
    }
}

TEST_CASE("attention of floats has the largest tiles that a block has room for") {
  using Cut = std::tuple<int, int, int>;
  constexpr AttentionPass forward = AttentionPass::forward, queries = AttentionPass::query_gradient,
                          keys = AttentionPass::key_value_gradient;
  const AttentionSize wide = size_of(8, 1024, 12, 256), middle = size_of(8, 1024, 12, 128),
                      narrow = size_of(8, 1024, 12, 64), few = size_of(1, 128, 12, 64),
                      some = size_of(1, 1024, 12, 64);
  CHECK(attention<forward, 4>(wide, 227 * kib).cut() == Cut(1, 1, 4));
  CHECK(attention<forward, 4>(wide, 163 * kib).cut() == Cut(1, 1, 1));
  CHECK(attention<queries, 4>(middle, 163 * kib).cut() == Cut(1, 1, 4));
  CHECK(attention<queries, 4>(middle, 99 * kib).cut() == Cut(1, 1, 2));
  CHECK(attention<queries, 4>(narrow, 163 * kib).cut() == Cut(1, 2, 4));
  CHECK(attention<queries, 4>(narrow, 99 * kib).cut() == Cut(1, 1, 4));
  CHECK(attention<forward, 4>(narrow, 99 * kib).cut() == Cut(1, 2, 4));
  CHECK(attention<keys, 4>(few, 163 * kib).cut() == Cut(2, 1, 4));
  CHECK(attention<keys, 4>(few, 99 * kib).cut() == Cut(1, 1, 4));
  CHECK(attention<queries, 4>(some, 227 * kib).cut() == Cut(2, 2, 4));
  CHECK(attention<queries, 4>(some, 99 * kib).cut() == Cut(1, 1, 4));
}

TEST_CASE("a norm's backward has tiles for each width and type within any GPU's shared memory") {
  norm_fits<2, false>();
  norm_fits<2, true>();
  norm_fits<4, false>();
  norm_fits<4, true>();
}

TEST_CASE("a norm's backward has more rows under way where there is room for them") {
  CHECK(norm<2, false>(4096, true, 227 * kib).stages == 4);
  CHECK(norm<2, false>(4096, true, 99 * kib).stages == 2);
  CHECK(norm<2, false>(768, true, 163 * kib).warps == 12);
  CHECK(norm<2, false>(768, true, 99 * kib).warps == 8);
  CHECK(norm<2, true>(1024, true, 227 * kib).warps == 16);
  CHECK(norm<4, false>(8192, true, 99 * kib).stages == 1);
  CHECK(norm<4, false>(32768, true, 163 * kib).folded == 1);
  CHECK(norm<4, false>(32768, true, 99 * kib).folded == 0);
}

TEST_CASE("the loss keeps as much of a row as a block has room for") {
  constexpr int hopper = room_for_rows(227 * kib);
  static_assert(hopper == 224 * kib);
  for (const int limit : limits)
    for (std::int64_t classes = 1; classes < 300'000; classes += 37)
      for (const int element_bytes : {2, 4}) {
        const int room = room_for_rows(limit),
                  threads = threads_of_row(classes, element_bytes, room);
        const auto chunks = static_cast<int>(chunks_per_thread(classes, element_bytes, threads));
        const int held = held_chunks(chunks, threads, room);
        INFO("classes " << classes << ", limit " << limit);
        if (!(held > 0 && held <= chunks && held * threads * 16 <= room)) FAIL("no room");
        if (threads == 512) CHECK(held == chunks);
      }
  CHECK(threads_of_row(4096, 2, hopper) == 128);
  CHECK(threads_of_row(50304, 2, hopper) == 512);
  CHECK(threads_of_row(50304, 2, room_for_rows(99 * kib)) == 1024);
  CHECK(threads_of_row(151936, 2, hopper) == 1024);
}

TEST_CASE("tests can cap shared memory, never raise it or leave less than every GPU has") {
  CHECK(capped_shared_bytes(227 * kib, nullptr) == 227 * kib);
  CHECK(capped_shared_bytes(227 * kib, "99") == 99 * kib);
  CHECK(capped_shared_bytes(99 * kib, "163") == 99 * kib);
  for (const char* cap : {"", "98", "0", "-99", "99 KiB", "99.5", "x", "99999999999999999999"})
    CHECK(capped_shared_bytes(227 * kib, cap) == 0);
}

}  // namespace kernel_tiles_test
