/// Trained weights from files into a net, and a net's weights into the form of a file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "net/net.h"
#include "schema/weights_file.h"

namespace robusta {

/// What became of each layer that has arrays in the file or in the net.
struct CopyReport {
  std::vector<std::string> copied;   ///< names, with the shapes
  std::vector<std::string> skipped;  ///< in the file, not in the net
  std::vector<std::string> missing;  ///< in the net, not in the file: keep their values
  std::vector<std::string> ignored;  ///< every layer of the file that the net does not have, arrays or not
};

/// Copies the layers of the same name; each goes into the first layer of the net with that name. Throws Error{kModel}
/// at `path` when the number of arrays or a shape differs.
CopyReport copy_weights(const WeightsFile& file, const std::string& path, Net& net);

/// Reads and copies each file in order and logs a table of what was copied, skipped and missing. Later files win.
/// `purpose` begins the first line: "Finetuning" from ...
void load_weights(const std::vector<std::string>& paths, Net& net, const std::string& purpose);

/// The same for a test net, whose layers are mostly those of the train net: without the table.
void load_weights_quietly(const std::vector<std::string>& paths, Net& net, const std::string& purpose);

/// "a.caffemodel, b.caffemodel": names without the blanks around them.
std::vector<std::string> split_list(const std::string& list);

/// Of the arrays of a model, whatever the format of its file: those that are equal count once, since formats differ in
/// how they store what layers share. A state keeps that of the model it was written with.
uint64_t fingerprint(const WeightsFile& weights);
uint64_t fingerprint(Net& net);

/// That of a model with the averaged weights that were written beside it.
uint64_t joint_fingerprint(uint64_t model, uint64_t averaged);

/// The arrays of a net, as a file of it would have them.
WeightsFile weights_of(Net& net);

/// The net's name and every layer with its definition, phase and arrays, shared ones repeated, as Caffe saves it.
caffe::NetParameter net_to_proto(Net& net, bool with_diffs);

/// Writes that message, with one array at a time in memory. Throws Error{kOutput}.
void write_net(const std::string& path, Net& net, bool with_diffs);

/// Size of that message in bytes, nearly.
size_t proto_bytes(const Net& net, bool with_diffs);

}  // namespace robusta
