// Where a field was not written itself, the line of the message around it is the next best place.

#include "schema/source.h"

namespace robusta {

std::string where_in(const std::string& file, int line, const FieldLines& fields, std::string_view field) {
  while (!field.empty()) {
    if (const auto found = fields.find(field); found != fields.end()) {
      line = found->second;
      break;
    }
    const size_t cut = field.find_last_of(".[");
    field = cut == std::string_view::npos ? std::string_view() : field.substr(0, cut);
  }
  return line > 0 ? file + ":" + std::to_string(line) : file;
}

}  // namespace robusta
