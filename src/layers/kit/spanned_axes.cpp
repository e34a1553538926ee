// Which axes of bottom 0 the parameter or the second bottom of Scale and Bias stands for, with errors by field.

#include "layers/kit/spanned_axes.h"

#include "base/str.h"
#include "layers/kit/axis.h"
#include "robusta/error.h"

namespace robusta {

SpannedAxes spanned_axes(const Shape& bottom, int axis, int num_axes, const std::string& message) {
  if (num_axes == 0) return {};
  const int begin = canonical_axis(bottom, axis, message + ".axis");
  if (num_axes < -1 || num_axes > bottom.axes() - begin) {
    throw Error(ErrorKind::kConfig,
                str("num_axes ", num_axes, " from axis ", begin, " on does not fit bottom 0 of shape ", bottom.str()),
                str("use 0 to ", bottom.axes() - begin, ", or -1 for all axes from axis ", begin, " on"))
        .in_field(message + ".num_axes");
  }
  return {begin, num_axes == -1 ? bottom.axes() : begin + num_axes};
}

SpannedAxes matching_axes(const Shape& bottom, int axis, const Shape& second, const std::string& message) {
  if (second.axes() == 0) return {};
  const int begin = canonical_axis(bottom, axis, message + ".axis");
  const int end = begin + second.axes();
  if (end > bottom.axes() || bottom.slice(begin, end) != second) {
    throw Error(ErrorKind::kConfig,
                str("bottom 1 of shape ", second.str(), " does not match bottom 0 of shape ", bottom.str(),
                    " from axis ", begin, " on"),
                "the extents must be equal from that axis on");
  }
  return {begin, end};
}

}  // namespace robusta
