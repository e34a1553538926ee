/// Descriptors 0, 1 and 2 of a program.
#pragma once

namespace robusta {

/// Puts /dev/null where one of them is closed: else the next file that is opened would get its number, and what is
/// meant for stderr would be written into a snapshot. Call first in main.
void keep_standard_streams();

}  // namespace robusta
