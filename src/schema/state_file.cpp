// What begins like a NetParameter is told apart before parsing: a model could pass for a state with unknown fields.

#include "schema/state_file.h"

#include "base/str.h"
#include "schema/blob_proto.h"
#include "schema/wire_reader.h"

namespace robusta {
namespace {

/// A NetParameter begins where a SolverState has no text: field 1 is a name there, a number here.
void refuse_weights(const std::string& path) {
  const BinaryFile file(path, ErrorKind::kModel);
  bool weights = false, state = false;
  try {
    WireReader(file).fields([&](int number, int wire) {
      weights |= (number == 1 || number == 100) && wire == kBytes;
      state |= number == 1 && wire == kVarint;
      return false;
    });
  } catch (Error& error) {
    if (!weights) throw error.at(path);
  }
  if (weights) throw Error(ErrorKind::kModel, "these are weights, no solver state", "give them with -weights").at(path);
  if (!state) throw Error(ErrorKind::kModel, "no iteration in it: this is no solver state").at(path);
}

void require_possible(const caffe::SolverState& state, const std::string& path) {
  const auto require = [&path](const char* field, int64_t value) {
    if (value >= 0) return;
    throw Error(ErrorKind::kModel, str(field, " is ", value, ": this state is damaged"), "resume from another one")
        .at(path);
  };
  require("iter", state.iter());
  require("current_step", state.current_step());
  require("iter_last_event", state.iter_last_event());
}

}  // namespace

caffe::SolverState read_state(const std::string& path) {
  refuse_weights(path);
  caffe::SolverState state;
  read_binary_proto(path, &state, ErrorKind::kModel);
  require_possible(state, path);
  return state;
}

void write_state(const std::string& path, const caffe::SolverState& state) { write_binary_proto(path, state); }

}  // namespace robusta
