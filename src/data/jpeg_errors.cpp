// Small damage is tolerated, as everywhere; a file that ends too early is not: the rest would be grey.

#include "data/jpeg_errors.h"

namespace robusta {
namespace {

void leave(j_common_ptr info) {
  JpegErrors& errors = jpeg_errors(info);
  errors.manager.format_message(info, errors.message);
  std::longjmp(errors.escape, 1);
}

void note(j_common_ptr info, int level) {
  if (level < 0 && info->err->msg_code == JWRN_JPEG_EOF) jpeg_errors(info).cut_off = true;
}

void say_nothing(j_common_ptr) {}

}  // namespace

void install(JpegErrors& errors, j_common_ptr info) {
  info->err = jpeg_std_error(&errors.manager);
  errors.manager.error_exit = leave;
  errors.manager.emit_message = note;
  errors.manager.output_message = say_nothing;
  errors.cut_off = false;
  errors.message[0] = '\0';
}

}  // namespace robusta
