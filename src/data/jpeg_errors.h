/// How libjpeg-turbo reports, for those who call it: by callbacks, and by a longjmp when it gives up. No function
/// between setjmp and the library's calls holds an object with a destructor. Private to src/data.
#pragma once

#include <csetjmp>
#include <cstdint>
#include <cstdio>

#include <jerror.h>
#include <jpeglib.h>

namespace robusta {

/// What the callbacks need. `manager` comes first: the library hands back a pointer to it.
struct JpegErrors {
  jpeg_error_mgr manager;
  std::jmp_buf escape;
  char message[JMSG_LENGTH_MAX];  ///< why it gave up
  bool cut_off;                   ///< the file ended too early
  bool too_many_scans;
  int64_t most_scans;
};

inline JpegErrors& jpeg_errors(j_common_ptr info) { return *reinterpret_cast<JpegErrors*>(info->err); }

/// Makes `info` report to `errors`.
void install(JpegErrors& errors, j_common_ptr info);

}  // namespace robusta
