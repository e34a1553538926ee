// Names of records, for messages.

#include "data/reader.h"

#include "base/str.h"
#include "robusta/error.h"

namespace robusta {

std::string record_name(const RecordReader& reader, int64_t index) {
  try {
    return reader.key(index) + " in " + reader.source();
  } catch (const Error&) {
    return str(index, " in ", reader.source());  // its key cannot be read
  }
}

}  // namespace robusta
