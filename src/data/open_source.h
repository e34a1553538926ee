/// From `data_param.source` to a reader.
#pragma once

#include <memory>
#include <string>

#include "caffe.pb.h"
#include "data/reader.h"

namespace robusta {

/// Opens the database in the folder `source`. What lies there decides, not `backend`: Caffe's default is LEVELDB, which
/// users often leave standing over an LMDB; that is read, with one warning. Throws Error{kData} when it cannot be read.
std::shared_ptr<const RecordReader> open_source(const std::string& source, caffe::DataParameter::DB backend);

/// Whether nothing lies at that path.
bool source_is_missing(const std::string& source);

/// From the command line words "lmdb" and "leveldb". Throws Error{kUsage} for anything else.
caffe::DataParameter::DB parse_backend(const std::string& backend);

}  // namespace robusta
