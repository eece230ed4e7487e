#pragma once
#include "data/labelled/line.hpp"
#include "options/data/options.hpp"
#include <memory>

namespace trainx::data::labelled {

/// Fields between delimiters, as RFC 4180 has them; ids separated by blanks: `"101 7592 102",1`. An
/// empty field is as good as none. `header` names the columns. Throws UserError 65.
std::unique_ptr<LineParser> make_csv_parser(std::string_view header, const LinePlace& place,
                                            options::Delimiter delimiter,
                                            const WantedFields& wanted, bool real_labels = false);

}  // namespace trainx::data::labelled
