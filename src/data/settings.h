/// What the command line says about data sources. Set before nets are made, read-only afterwards.
#pragma once

namespace robusta {

struct DataSettings {
  int threads = 0;                  ///< threads that read and transform, per data layer; 0: chosen by the machine
  bool shuffle = false;             ///< shuffle every TRAIN source, as data_param.shuffle does
  bool synthesize_missing = false;  ///< a source that is not there is replaced by synthetic input (`caffe time`)
};

/// The settings of this process.
DataSettings& data_settings();

/// The number of reading threads that `settings.threads` stands for: at least 1.
int data_threads(const DataSettings& settings);

}  // namespace robusta
