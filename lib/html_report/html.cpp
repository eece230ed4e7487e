#include "html_report/html.hpp"
#include "html_report/page_style.hpp"
#include <algorithm>
#include <cstdio>

namespace trainx::html_report {

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default: out += c;
    }
  return out;
}

std::string table(const std::vector<std::string>& heads,
                  const std::vector<std::vector<std::string>>& rows) {
  std::string out = "<div class='wide'><table>";
  if (!heads.empty()) {
    out += "<thead><tr>";
    for (const std::string& head : heads) out += "<th>" + escaped(head) + "</th>";
    out += "</tr></thead>";
  }
  out += "<tbody>";
  for (const auto& row : rows) {
    out += "<tr>";
    for (const std::string& cell : row) out += "<td>" + cell + "</td>";
    out += "</tr>";
  }
  return out + "</tbody></table></div>\n";
}

std::string bars(const std::vector<Bar>& bars, double whole) {
  double largest = whole;
  for (const Bar& b : bars) largest = std::max(largest, b.value);
  std::string out = "<div class='bars'>";
  for (const Bar& b : bars) {
    char share[32];
    std::snprintf(share, sizeof share, "%.2f", largest > 0 ? 100 * b.value / largest : 0);
    out += "<span>" + escaped(b.name) +
           "</span><span class='track'><span class='bar' style='width:" + share +
           "%'></span></span><span class='number'>" + escaped(b.text) + "</span>";
  }
  return out + "</div>\n";
}

std::string html_page(const std::string& title, const std::string& body) {
  return "<!DOCTYPE html>\n<html lang='en'><head><meta charset='utf-8'>"
         "<meta name='viewport' content='width=device-width, initial-scale=1'><title>" +
         escaped(title) + " - trainx</title><style>" + page_style + "</style></head><body>\n" +
         body + "<script>" + page_script + "</script></body></html>\n";
}

}  // namespace trainx::html_report
