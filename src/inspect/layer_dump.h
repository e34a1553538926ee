/// What each layer of a net computes in one pass, written into a folder, or compared with such a folder.
///
/// Intel's actions collect and compare. The folder has a file INDEX.txt, with a line for each array - its file, what it
/// is, its layer and its blob -, and a BlobProto for each, which every Caffe reads: parameters, what each layer
/// computes, and what its backward does, in the order in which they are computed. Names of files are made of numbers
/// and of the letters of layers' names, so nothing is written outside of the folder.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>

#include "net/net.h"

namespace robusta {

struct CompareOptions {
  double epsilon = 1e-3;    ///< of |a - b| / max(1, |a|), where a was collected
  int64_t most_listed = 0;  ///< numbers of an array that its list of errors names at most; 0: 10,000
  bool stop_there = false;  ///< leave an array when so many errors were found
  std::string output = {};  ///< folder for the lists of errors; made where there are any
};

/// Runs one pass, backward where the net has it, and writes it. The folder is made, or has to be empty. Returns how
/// many arrays. Throws Error{kOutput}. REQUIRES: NetOptions::keep_blobs.
int64_t collect_pass(Net& net, const std::string& folder);

/// Gives the net the parameters of the folder, runs one pass and compares what it computes with what lies there. Writes
/// a table of what differs, the first layer first, and returns whether anything does: arrays that only one side has,
/// too. Values that the net does not keep, as a fused kernel computes them on the way, are counted and left out. Throws
/// Error{kData} for a folder that cannot be read or is of another net. REQUIRES: NetOptions::keep_blobs.
bool compare_pass(Net& net, const std::string& folder, const CompareOptions& options, std::ostream& out);

}  // namespace robusta
