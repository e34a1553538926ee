// Every error of `caffe` ends here, as a line on stderr and an exit code.

#include <cstdio>
#include <exception>
#include <new>
#include <system_error>

#include "app/commands/commands.h"
#include "comm/liveness/restart_code.h"
#include "device/cpu/openmp_threads.h"
#include "robusta/error.h"

namespace robusta {
namespace {

int report(const char* what, ErrorKind kind) {
  std::fprintf(stderr, "caffe: error: %s\n", what);
  return final_code(static_cast<int>(kind));
}

}  // namespace

int caffe_main(int argc, char** argv) {
  try {
    require_openmp_threads();
    return final_code(run_caffe(argc, argv));
  } catch (const Error& error) {
    return report(error.what(), error.kind());
  } catch (const std::bad_alloc&) {
    return report("out of memory; lower the batch size (-batch)", ErrorKind::kMemory);
  } catch (const std::system_error& error) {
    if (error.code() != std::errc::resource_unavailable_try_again) return report(error.what(), ErrorKind::kInternal);
    return report("there is no memory left for another thread; raise `ulimit -v` and `ulimit -u`", ErrorKind::kMemory);
  } catch (const std::exception& error) {
    return report(error.what(), ErrorKind::kInternal);
  }
}

}  // namespace robusta
