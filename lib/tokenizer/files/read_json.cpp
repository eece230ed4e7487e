#include "tokenizer/files/read_json.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "core/process.hpp"
#include <algorithm>
#include <filesystem>

namespace trainx::tokenizer {
namespace {

// the largest known are a tenth of it
constexpr std::uintmax_t largest_file = std::uintmax_t{256} << 20;

template <class Json>
Json parse(const std::string& text, const std::string& path) {
  constexpr int deepest = 64;
  const auto place_of = [&](std::size_t byte) {
    const std::size_t at = std::min(byte > 0 ? byte - 1 : 0, text.size());
    const auto line =
        std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n') + 1;
    const std::size_t start = at == 0 ? std::string::npos : text.rfind('\n', at - 1);
    return path + ":" + std::to_string(line) + ":" +
           std::to_string(at - (start == std::string::npos ? 0 : start + 1) + 1);
  };
  try {
    return Json::parse(text, [&](int depth, typename Json::parse_event_t, Json&) {
      if (depth > deepest)
        throw UserError(ExitCode::bad_data, path + " nests deeper than " + std::to_string(deepest) +
                                                " levels: no tokenizer does");
      return true;
    });
  } catch (const nlohmann::json::parse_error& malformed) {
    throw UserError(
        ExitCode::bad_data,
        place_of(malformed.byte) + ": malformed JSON: take the file again from where it came");
  } catch (const nlohmann::json::out_of_range&) {
    throw UserError(ExitCode::bad_data, path + " has a number that is too large");
  }
}

}  // namespace

std::string read_tokenizer_file(const std::string& path) {
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  if (!error && size > largest_file)
    throw UserError(ExitCode::bad_data,
                    path + " has " + std::to_string(size) +
                        " bytes: no file of a tokenizer is larger than 256 MiB");
  std::string text = read_file(path);
  if (!is_utf8(text))
    throw UserError(ExitCode::bad_data, path + " is not UTF-8, as a tokenizer's files are");
  return text;
}

nlohmann::json parse_tokenizer_json(const std::string& text, const std::string& path) {
  return parse<nlohmann::json>(text, path);
}

nlohmann::ordered_json read_json_object(const std::string& path) {
  if (!std::filesystem::is_regular_file(path)) return nlohmann::ordered_json::object();
  auto object = parse<nlohmann::ordered_json>(read_tokenizer_file(path), path);
  if (!object.is_object()) throw UserError(ExitCode::bad_data, path + " is no JSON object");
  return object;
}

}  // namespace trainx::tokenizer
