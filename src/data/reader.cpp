#include "data/reader.h"

namespace robusta {

std::string record_name(const RecordReader& reader, int64_t index) {
  return reader.key(index) + " in " + reader.source();
}

}  // namespace robusta
