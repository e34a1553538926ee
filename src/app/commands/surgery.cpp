// caffe surgery: weights in, weights out.

#include "app/commands/file_action.h"
#include "base/log.h"
#include "inspect/surgery.h"
#include "robusta/error.h"
#include "schema/weights_file.h"
#include "solver/files/weights.h"

namespace robusta {
namespace {

struct SurgeryFlags : FileFlags {
  Flag<std::string> output{this, "output", "", "the .caffemodel to write (needed)"};
  Flag<std::string> rename{this, "rename", "", "layers with their new names: old=new,other=name"};
  Flag<std::string> drop{this, "drop", "", "layers to leave out, separated by commas"};
  Flag<std::string> transplant{this, "transplant", "",
                               "layers of other weights: FILE:layer,layer=name_here; several files between semicolons"};
  Flag<std::string> like{
      this, "like", "", "a net (prototxt): layers that it does not have are left out, the others must have its shapes"};
};

int surgery_command(const FileCommand& command) {
  SurgeryFlags flags;
  const FileWords read = read_file_command(command, flags, 1, 1);
  if (read.done) return read.exit_code;
  if (flags.output().empty()) throw Error(ErrorKind::kUsage, "surgery needs -output", "give the file to write");
  if (flags.output().ends_with(".h5")) {
    throw Error(ErrorKind::kUnsupported, "surgery writes no HDF5 files",
                "give -output a name that ends in .caffemodel");
  }
  for (const Renaming& renaming : parse_renamings(flags.rename())) {
    if (renaming.from == renaming.to)
      throw Error(ErrorKind::kUsage, "-rename " + renaming.from + " has no new name", "write old=new");
  }
  const caffe::NetParameter net = operate(read.words[0], {.rename = parse_renamings(flags.rename()),
                                                          .drop = split_list(flags.drop()),
                                                          .transplant = parse_transplants(flags.transplant()),
                                                          .like = flags.like()});
  write_weights(flags.output(), net);
  LOG_INFO << "Wrote " << flags.output();
  return 0;
}

[[maybe_unused]] const bool registered_surgery = register_file_action(
    {"surgery", "IN.caffemodel", "renames, drops and transplants layers of weights", surgery_command});

}  // namespace
}  // namespace robusta
