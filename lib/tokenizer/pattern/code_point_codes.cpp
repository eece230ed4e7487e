#include "tokenizer/pattern/code_point_codes.hpp"

namespace trainx::tokenizer {

bool CodePointCodes::split_by(std::vector<CodePointRanges>& sets) {
  for (CodePointRanges& set : sets)
    if (!split_by(set)) return false;
  make_pages();
  return true;
}

bool CodePointCodes::split_by(CodePointRanges& set) {
  // Where all of a code lies inside, it may stay; found out first.
  std::array<bool, 256> outside_seen{};
  for_each_piece(set, [&](std::uint32_t, std::uint32_t, std::uint8_t code, bool inside) {
    if (!inside) outside_seen[code] = true;
  });
  std::array<int, 256> new_code;
  new_code.fill(-1);
  std::vector<Run> split;
  bool few = true;
  for_each_piece(set, [&](std::uint32_t first, std::uint32_t, std::uint8_t code, bool inside) {
    if (inside && outside_seen[code]) {
      if (new_code[code] < 0) {
        if (count_ == 256) few = false;
        new_code[code] = few ? count_++ : 0;
      }
      code = static_cast<std::uint8_t>(new_code[code]);
    }
    if (split.empty() || split.back().code != code) split.push_back({first, code});
  });
  runs_ = std::move(split);
  return few;
}

CodePointCodes::Codes CodePointCodes::codes_of(CodePointRanges& set) const {
  Codes codes;
  for_each_piece(set, [&](std::uint32_t, std::uint32_t, std::uint8_t code, bool inside) {
    if (inside) codes.set(code);
  });
  return codes;
}

void CodePointCodes::make_pages() {
  page_of_.assign(code_points / page_size, 0);
  std::array<int, 256> whole;  // the page that has this code alone
  whole.fill(-1);
  const auto add_page = [&](std::uint8_t code) {
    pages_.resize(pages_.size() + page_size, code);
    return static_cast<std::uint16_t>(pages_.size() / page_size - 1);
  };
  std::uint32_t begun = 0;  // pages that have a place of their own
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    const auto [first, code] = runs_[i];
    const std::uint32_t end = i + 1 < runs_.size() ? runs_[i + 1].first : code_points;
    for (std::uint32_t at = first; at < end;) {
      const std::uint32_t page = at / page_size, inside = at % page_size;
      if (inside == 0 && end - at >= page_size) {  // whole pages
        if (whole[code] < 0) whole[code] = add_page(code);
        const std::uint32_t pages = (end - at) / page_size;
        std::fill_n(page_of_.begin() + page, pages, static_cast<std::uint16_t>(whole[code]));
        at += pages * page_size;
        continue;
      }
      if (page >= begun) {
        page_of_[page] = add_page(code);
        begun = page + 1;
      }
      const std::uint32_t stop = std::min(end, (page + 1) * static_cast<std::uint32_t>(page_size));
      std::fill_n(pages_.begin() + page_of_[page] * static_cast<std::ptrdiff_t>(page_size) + inside,
                  stop - at, code);
      at = stop;
    }
  }
}

void CodePointCodes::encode(std::string_view text, std::string& codes) const {
  const std::uint8_t* const ascii = pages_.data() + page_of_[0] * page_size;
  codes.resize(text.size());
  char* out = codes.data();
  for (std::size_t at = 0; at < text.size();) {
    const auto byte = static_cast<unsigned char>(text[at]);
    if (byte < 0x80) {
      *out++ = static_cast<char>(ascii[byte]);
      ++at;
    } else {
      *out++ = static_cast<char>(code_of(next_code_point(text, at)));
    }
  }
  codes.resize(static_cast<std::size_t>(out - codes.data()));
}

}  // namespace trainx::tokenizer
