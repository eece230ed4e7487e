#include "fuzz/mutators/json.hpp"
#include "fuzz/mutators/mutators.hpp"
#include <cstring>
#include <utility>

namespace trainx::fuzz {
namespace {

constexpr std::string_view words[] = {
    "F64",   "F32",          "F16", "BF16", "F8_E4M3", "F8_E5M2", "I64",          "I32",
    "I16",   "I8",           "U64", "U32",  "U16",     "U8",      "BOOL",         "dtype",
    "shape", "data_offsets", "a",   "b.c",  "F6_E3",   "f32",     "__metadata__", "format"};

std::uint64_t bytes_of(std::string_view dtype) {
  return dtype.ends_with("64") ? 8 : dtype.ends_with("32") ? 4 : dtype.ends_with("16") ? 2 : 1;
}

bool is_tensor(const Json& t) {
  return t.is_object() && t.contains("dtype") && t["dtype"].is_string() && t.contains("shape") &&
         t["shape"].is_array() && t.contains("data_offsets");
}

/// Gives each tensor the bytes of its shape, one behind the other; how many all have.
std::uint64_t lay_out(Json& header) {
  std::uint64_t at = 0;
  for (auto& [name, t] : header.items()) {
    if (!is_tensor(t)) continue;
    std::uint64_t size = bytes_of(t["dtype"].get_ref<const std::string&>());
    for (const Json& d : t["shape"]) size *= d.is_number_integer() ? d.get<std::uint64_t>() : 1;
    t["data_offsets"] = {at, at + size};
    at += size;
  }
  return at;
}

void add_tensor(Json& header, Random& random) {
  Json shape = Json::array();
  for (std::size_t n = random.below(4); n > 0; --n) shape.push_back(random.below(5));
  Json tensor = Json::object();
  tensor["dtype"] = random.pick(words);
  tensor["shape"] = std::move(shape);
  tensor["data_offsets"] = {0, 0};
  header["t" + std::to_string(random.below(20))] = std::move(tensor);
}

}  // namespace

/// The header stays JSON whose length is told rightly; mostly its tensors also lie as they should.
std::string mutate_safetensors(std::string_view input, std::string_view other, Random& random) {
  constexpr std::size_t length_bytes = 8, most_data = 4096;
  const auto header_of = [](std::string_view file) -> std::optional<Json> {
    std::uint64_t bytes = 0;
    if (file.size() < length_bytes) return std::nullopt;
    std::memcpy(&bytes, file.data(), length_bytes);
    if (bytes > file.size() - length_bytes) return std::nullopt;
    auto header = parse_json(file.substr(length_bytes, bytes));
    if (header && !header->is_object()) return std::nullopt;
    return header;
  };
  auto header = header_of(input);
  if (!header) return {};
  std::optional<Json> giver;
  if (other != input) giver = header_of(other);
  const std::size_t what = random.below(4);
  if (what == 0)
    add_tensor(*header, random);
  else
    mutate_json(*header, giver ? *giver : *header, words, random);
  // Changed offsets would be put right again.
  std::uint64_t data = what < 3 && header->is_object() ? lay_out(*header) : random.below(64);
  if (random.one_in(8)) data += random.below(9) - 4;
  const std::string text = text_of(*header) +
                           std::string(random.one_in(4) ? random.below(9) : 0, ' ');
  std::uint64_t told = text.size();
  if (random.one_in(16)) told += random.below(9) - 4;
  std::string out(length_bytes, '\0');
  std::memcpy(out.data(), &told, length_bytes);
  return out + text + std::string(data > most_data ? random.below(64) : data, '\x3f');
}

}  // namespace trainx::fuzz
