/// How the sources of a net read. Handed to each source when it is opened; nothing here is process-wide.
#pragma once

namespace robusta {

struct DataSettings {
  int threads = 0;                  ///< threads that read and transform, per data layer; 0: chosen by the machine
  bool shuffle = false;             ///< shuffle every TRAIN source, as data_param.shuffle does
  bool scaled_jpeg = false;         ///< RecordFiller::decode_scaled
  bool synthesize_missing = false;  ///< a source that is not there is replaced by synthetic input (`caffe time`)
};

/// The number of reading threads that `settings.threads` stands for: at least 1.
int data_threads(const DataSettings& settings);

}  // namespace robusta
