#include "core/error.hpp"
#include "kernels/random/initial_values.hpp"
#include "model/model.hpp"
#include "tensor/large_memory.hpp"
#include "tensor/parallel.hpp"
#include <string_view>

namespace trainx::model {

using program::Initializer;
using program::ParameterSpec;

namespace {

/// FNV-1a of the name, mixed with the seed (the finalizer of MurmurHash3): a Philox key for each
/// tensor.
std::uint64_t key_of(std::uint64_t seed, std::string_view name) {
  std::uint64_t h = 0xcbf29ce484222325 ^ seed * 0x9e3779b97f4a7c15;
  for (unsigned char byte : name) h = (h ^ byte) * 0x100000001b3;
  h = (h ^ h >> 33) * 0xff51afd7ed558ccd;
  h = (h ^ h >> 33) * 0xc4ceb9fe1a85ec53;
  return h ^ h >> 33;
}

/// Writes the values to `out`, by all threads.
void fill(const kernels::InitialValues& values, float* out) {
  tensor::parallel_for(0, values.elements, 16384, [&](std::int64_t begin, std::int64_t end) {
    kernels::InitialValues part = values;
    part.first += begin;
    part.elements = end - begin;
    kernels::initial_values_reference({.exact = out + begin}, part);
  });
}

}  // namespace

void normal_numbers(std::uint64_t seed, std::string_view name, std::span<float> out) {
  fill({.law = kernels::InitialLaw::normal,
        .scale = 1,
        .key = key_of(seed, name),
        .elements = std::ssize(out)},
       out.data());
}

kernels::InitialValues initial_values(const ParameterSpec& whole, const ElementRun& run,
                                      std::uint64_t seed) {
  kernels::InitialValues values{.first = run.first, .elements = run.count};
  switch (whole.initializer) {
    case Initializer::zeros: return values;
    case Initializer::ones: values.scale = 1; return values;
    case Initializer::uniform:
      values.law = kernels::InitialLaw::uniform;
      values.scale = whole.bound;
      break;
    case Initializer::normal:
      values.law = kernels::InitialLaw::normal;
      values.scale = whole.standard_deviation;
      // Padding is of rows, at the end, so the elements that are saved come first.
      values.end = 1;
      for (const std::int64_t d : whole.saved_dims) values.end *= d;
      if (whole.zero_row != program::none) {
        values.zero_begin = whole.zero_row * whole.dims.at(1);
        values.zero_end = values.zero_begin + whole.dims.at(1);
      }
      break;
    case Initializer::constructed:
      throw InternalError(whole.name + " begins as its module says, not by a law");
  }
  values.key = key_of(seed, whole.name);
  return values;
}

WeightInitializer drawn_weights(std::uint64_t seed) {
  return {[seed](const program::GroupSpec& group, float* exact) {
            initialize_parameters(group, seed, exact);
          },
          seed};
}

void initialize_parameters(const program::GroupSpec& group, std::uint64_t seed, float* exact) {
  tensor::set_zero(reinterpret_cast<std::byte*>(exact),
                   static_cast<std::size_t>(group.elements) * sizeof(float));
  for (const ParameterSpec& p : group.parameters)
    if (p.initializer != Initializer::zeros && p.initializer != Initializer::constructed)
      fill(initial_values(p, {0, p.elements()}, seed), exact + p.offset);
}

}  // namespace trainx::model
