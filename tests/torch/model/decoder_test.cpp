// The cached decoder against a forward of the whole text: at every position, however the text is
// cut into pieces.
#include "cases.hpp"
#include "core/error.hpp"
#include "model/decoder.hpp"
#include "reference_gpt2.hpp"
#include <ATen/TensorOperators.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/zeros.h>
#include <numeric>
#include <random>
#include "support/catch.hpp"

namespace decoder_test {

using namespace trainx;
using namespace trainx::model::test;
using model::Decoder;

namespace {

Decoder::GraphOf graphs(const architectures::Gpt2Dims& dims) {
  return [=](std::int64_t length) { return architectures::graph_of(dims, 1, length, DType::f32); };
}

/// A decoder over a run's weights, in memory that holds NaN wherever nothing was written.
struct DecoderOf {
  PlainRun& run;
  std::vector<double> bytes;
  Decoder decoder;

  DecoderOf(PlainRun& r, const architectures::Gpt2Dims& dims, std::int64_t capacity)
      : run(r),
        bytes(static_cast<std::size_t>(Decoder::memory_bytes(graphs(dims), capacity)) /
                      sizeof(double) +
                  64,
              std::numeric_limits<double>::quiet_NaN()),
        decoder(graphs(dims), dims.vocab_size, capacity, groups(), aligned()) {}
  std::vector<Tensor> groups() {
    std::vector<Tensor> out;
    for (const auto& group : run.graph.groups) {
      const at::Tensor flat = run.buffer("w." + group.name, DType::f32).flatten();
      out.push_back(flat);
    }
    return out;
  }
  std::byte* aligned() {
    const auto at = reinterpret_cast<std::uintptr_t>(bytes.data());
    return reinterpret_cast<std::byte*>((at + 255) / 256 * 256);
  }
  at::Tensor append(const std::vector<std::int32_t>& tokens) {
    const auto logits = decoder.append(tokens);
    return at::from_blob(const_cast<float*>(logits.data()),
                         {static_cast<std::int64_t>(logits.size())}, at::kFloat)
        .clone();
  }
};

architectures::Gpt2Dims without_dropout(architectures::Gpt2Dims dims) {
  dims.dropout = 0;
  return dims;
}

/// One sample of a case, as long as its model's positions.
struct Text {
  Case t;
  PlainRun run;
  std::vector<std::int32_t> tokens;
  at::Tensor logits;  // f64 [T, V], of the model written plainly

  explicit Text(const Case& of)
      : t{of.name, without_dropout(of.dims), 1, of.dims.max_positions, 0},
        run(make_run(t, DType::f32)) {
    const at::Tensor ids = run.buffer("tokens", DType::i32);
    tokens.assign(ids.const_data_ptr<std::int32_t>(),
                  ids.const_data_ptr<std::int32_t>() + t.length);
    const ReferenceBatch batch{ids.view({1, t.length}),
                               run.buffer("targets", DType::i32).view({1, t.length}),
                               run.buffer("positions", DType::i64)};
    logits = reference_gpt2(t.dims, run.parameters("w.", DType::f32), batch, 1, 1).logits[0];
  }
  /// f32 [V], of what follows `position`: training's blocks over the whole text.
  at::Tensor full_forward(std::int64_t position) {
    PlainRun predict(t.dims, run.graph,
                     program::forward_program(run.program, run.graph, program::Op::predict));
    predict.mode = model::Mode::eval;
    for (const auto& group : run.graph.groups)
      predict.memory.at("w." + group.name).copy_(run.memory.at("w." + group.name));
    for (const char* name : {"tokens", "positions"})
      predict.memory.at(name).copy_(run.memory.at(name));
    predict.buffer("targets", DType::i32)[0] = position;
    predict.run();
    return predict.buffer("logits", DType::f32).clone();
  }
  std::vector<std::int32_t> part(std::int64_t first, std::int64_t count) const {
    return {tokens.begin() + first, tokens.begin() + first + count};
  }
};

/// Lengths of pieces that make up `length`.
std::vector<std::int64_t> random_cut(std::int64_t length, std::mt19937& random) {
  std::vector<std::int64_t> pieces;
  for (std::int64_t left = length; left > 0; left -= pieces.back())
    pieces.push_back(1 +
                     static_cast<std::int64_t>(
                         random() % static_cast<std::uint64_t>(std::min<std::int64_t>(left, 7))));
  return pieces;
}

const std::vector<int>& chosen() {
  static const std::vector<int> list{0, 2, 3, 4, 6};
  return list;
}

}  // namespace

TEST_CASE("token by token the decoder's logits are those of the whole text at every position") {
  Text text(cases().at(static_cast<std::size_t>(GENERATE(0, 2, 3, 4, 6, 7))));
  INFO(text.t.name);
  DecoderOf decoder(text.run, text.t.dims, text.t.length);
  for (std::int64_t i = 0; i < text.t.length; ++i) {
    const at::Tensor got = decoder.append(text.part(i, 1));
    const double error = relative_error(got, text.logits[i]);
    if (!(error <= 1e-5)) FAIL("position " << i << ": " << error);
    CHECK(decoder.decoder.size() == i + 1);
  }
}

TEST_CASE(
    "a text that begins in one piece, of any length, goes on token by token with the same logits") {
  Text text(cases().at(
      static_cast<std::size_t>(chosen().at(static_cast<std::size_t>(GENERATE(range(0, 5)))))));
  INFO(text.t.name);
  DecoderOf decoder(text.run, text.t.dims, text.t.length);
  for (std::int64_t first = 1; first <= text.t.length; first += 1 + first / 3) {
    decoder.decoder.clear();
    CHECK(relative_error(decoder.append(text.part(0, first)), text.logits[first - 1]) <= 1e-5);
    for (std::int64_t i = first; i < text.t.length; ++i)
      if (const double error = relative_error(decoder.append(text.part(i, 1)), text.logits[i]);
          !(error <= 1e-5))
        FAIL("first piece " << first << ", position " << i << ": " << error);
  }
}

TEST_CASE("a text in several pieces gives the same logits behind each of them") {
  const unsigned seed = std::random_device{}();
  std::mt19937 random(seed);
  Text text(cases().at(static_cast<std::size_t>(GENERATE(0, 3, 4, 6, 7))));
  INFO(text.t.name << ", seed " << seed);
  DecoderOf decoder(text.run, text.t.dims, text.t.length);
  for (int repeat = 0; repeat < 5; ++repeat) {
    decoder.decoder.clear();
    std::int64_t at = 0;
    for (const std::int64_t piece : random_cut(text.t.length, random)) {
      const at::Tensor got = decoder.append(text.part(at, piece));
      at += piece;
      if (const double error = relative_error(got, text.logits[at - 1]); !(error <= 1e-5))
        FAIL("a piece of " << piece << " up to " << at << ": " << error);
    }
  }
}

TEST_CASE("a first piece is computed as in training, to the bit, whatever was decoded before") {
  Text text(cases().at(static_cast<std::size_t>(GENERATE(0, 3, 6, 7))));
  INFO(text.t.name);
  const at::Tensor want = text.full_forward(text.t.length - 1);
  CHECK(relative_error(want, text.logits[text.t.length - 1]) <= 1e-5);
  DecoderOf decoder(text.run, text.t.dims, text.t.length);
  CHECK(decoder.append(text.tokens).equal(want));
  decoder.decoder.clear();
  for (std::int64_t i = 0; i < std::min<std::int64_t>(text.t.length, 5); ++i)
    decoder.append({static_cast<std::int32_t>(i % text.t.dims.vocab_size)});
  decoder.decoder.clear();
  CHECK(decoder.append(text.tokens).equal(want));
}

TEST_CASE("logits depend on what was said before, and a smaller capacity changes none") {
  Text text(cases().at(0));
  const std::int64_t V = text.t.dims.vocab_size, short_capacity = 6;
  DecoderOf whole(text.run, text.t.dims, text.t.length),
      other(text.run, text.t.dims, text.t.length), small(text.run, text.t.dims, short_capacity);
  std::vector<std::int32_t> changed = text.part(0, short_capacity);
  changed[0] = static_cast<std::int32_t>((changed[0] + 1) % V);
  const at::Tensor want = whole.append(text.part(0, short_capacity));
  CHECK(relative_error(other.append(changed), want) > 1e-3);
  CHECK(small.append(text.part(0, short_capacity)).equal(want));
  CHECK(small.decoder.size() == small.decoder.capacity());
  CHECK_THROWS_AS(small.append({0}), InternalError);
  CHECK_THROWS_AS(whole.append({}), InternalError);
  CHECK_THROWS_AS(whole.append({static_cast<std::int32_t>(V)}), InternalError);
  CHECK_THROWS_AS(whole.append({-1}), InternalError);
  // with those before it is longer than the capacity
  CHECK_THROWS_AS(whole.append(text.tokens), InternalError);
  CHECK(whole.decoder.size() == short_capacity);
  // and nothing was lost
  CHECK(relative_error(whole.append(text.part(short_capacity, 1)), text.logits[short_capacity]) <=
        1e-5);
}

}  // namespace decoder_test
