// caffe: trains, tests and times nets.

#include <cstdio>
#include <exception>
#include <new>
#include <system_error>

#include "address_space.h"
#include "app/commands/commands.h"
#include "base/standard_streams.h"
#include "brief_spin.h"
#include "comm/affinity/omp_environment.h"
#include "robusta/error.h"

namespace {

int report(const char* what, robusta::ErrorKind kind) {
  std::fprintf(stderr, "caffe: error: %s\n", what);
  return static_cast<int>(kind);
}

}  // namespace

int main(int argc, char** argv) {
  robusta::keep_standard_streams();
  robusta::apply_omp_environment(argv);
  try {
    return robusta::run_caffe(argc, argv);
  } catch (const robusta::Error& error) {
    return report(error.what(), error.kind());
  } catch (const std::bad_alloc&) {
    return report("out of memory; lower the batch size (-batch)", robusta::ErrorKind::kMemory);
  } catch (const std::system_error& error) {
    if (error.code() != std::errc::resource_unavailable_try_again)
      return report(error.what(), robusta::ErrorKind::kInternal);
    return report("there is no memory left for another thread; raise `ulimit -v` and `ulimit -u`",
                  robusta::ErrorKind::kMemory);
  } catch (const std::exception& error) {
    return report(error.what(), robusta::ErrorKind::kInternal);
  }
}
