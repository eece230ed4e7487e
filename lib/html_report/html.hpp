#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace trainx::html_report {

/// As text, or as an attribute's value in either kind of quotes.
std::string escaped(std::string_view text);
/// A table with a row for each; `heads` empty: without a head. Cells are HTML already.
std::string table(const std::vector<std::string>& heads,
                  const std::vector<std::vector<std::string>>& rows);
/// `text` stands at its end.
struct Bar {
  std::string name;
  double value = 0;
  std::string text;
};
/// The largest, or one of `whole` where that is more, is as long as there is room for.
std::string bars(const std::vector<Bar>& bars, double whole = 0);

/// A whole page with the style and script of reports. `body` is HTML already.
std::string html_page(const std::string& title, const std::string& body);

}  // namespace trainx::html_report
