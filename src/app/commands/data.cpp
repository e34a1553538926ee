// caffe data: reads all of a database once and says what is in it.

#include <iostream>

#include "app/commands/file_action.h"
#include "inspect/data_report.h"
#include "robusta/error.h"

namespace robusta {
namespace {

struct DataFlags : FileFlags {
  Flag<int32_t> n{this, "n", 5, "records to list one by one"};
  Flag<std::string> png{this, "png", "", "folder to write the pictures of these records into; no file is replaced"};
  Flag<std::string> root{this, "root", "", "put before each path of a list of images, as it is"};
};

int data_command(const FileCommand& command) {
  DataFlags flags;
  const FileWords read = read_file_command(command, flags, 1, 1);
  if (read.done) return read.exit_code;
  if (flags.n() < 0) throw Error(ErrorKind::kUsage, "-n is negative", "give 0 or more");
  const DataReportOptions options{.show = flags.n(), .root = flags.root(), .png = flags.png()};
  return print_data_report(std::cout, read.words[0], options) ? 0 : static_cast<int>(ErrorKind::kData);
}

[[maybe_unused]] const bool registered_data = register_file_action(
    {"data", "DB", "records, sizes, labels, duplicates and broken records of a database, list, HDF5 file or mean",
     data_command});

}  // namespace
}  // namespace robusta
