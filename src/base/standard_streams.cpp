// open(2) gives the lowest number that is free, so the missing ones are filled in order.
#include "base/standard_streams.h"

#include <fcntl.h>
#include <unistd.h>

namespace robusta {

void keep_standard_streams() {
  for (int fd = ::open("/dev/null", O_RDWR); fd >= 0; fd = ::open("/dev/null", O_RDWR)) {
    if (fd <= STDERR_FILENO) continue;
    ::close(fd);
    return;
  }
}

}  // namespace robusta
