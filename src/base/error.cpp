// The text is composed anew whenever a level adds what it knows, so that what() only returns it.

#include "robusta/error.h"

#include <utility>

namespace robusta {

Error::Error(ErrorKind kind, std::string cause, std::string fix)
    : kind_(kind), cause_(std::move(cause)), fix_(std::move(fix)) {
  compose();
}

Error& Error::in_field(std::string_view field) {
  if (field_.empty()) field_ = field;
  return *this;
}

Error& Error::in_layer(std::string_view layer) {
  if (layer_.empty()) layer_ = layer;
  compose();
  return *this;
}

Error& Error::at(std::string_view location) {
  if (location_.empty()) location_ = location;
  compose();
  return *this;
}

void Error::compose() {
  text_.clear();
  if (!location_.empty()) text_ += location_ + ": ";
  if (!layer_.empty()) text_ += "layer \"" + layer_ + "\": ";
  text_ += cause_;
  if (!fix_.empty()) text_ += "; " + fix_;
}

}  // namespace robusta
