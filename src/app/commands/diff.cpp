// caffe diff: like diff(1), its exit code says whether two files differ.

#include <iostream>

#include "app/commands/file_action.h"
#include "inspect/file_differences.h"
#include "robusta/error.h"

namespace robusta {
namespace {

struct DiffFlags : FileFlags {
  Flag<double> epsilon{this, "epsilon", 0, "numbers of weights and states that differ by no more than this are equal"};
};

int diff_command(const FileCommand& command) {
  DiffFlags flags;
  const FileWords read = read_file_command(command, flags, 2, 2);
  if (read.done) return read.exit_code;
  if (!(flags.epsilon() >= 0)) throw Error(ErrorKind::kUsage, "-epsilon is no distance", "give 0 or more");
  return print_file_differences(std::cout, read.words[0], read.words[1], {.epsilon = flags.epsilon()}) ? 1 : 0;
}

[[maybe_unused]] const bool registered_diff = register_file_action(
    {"diff", "A B", "what differs between two nets, solvers, weights or states; exit code 0: nothing, 1: something",
     diff_command});

}  // namespace
}  // namespace robusta
