// Writes the mean image of a database.

#include "data/convert/image_mean.h"
#include "data/lmdb/lmdb_reader.h"
#include "data/open_source.h"
#include "run_tool.h"

int main(int argc, char** argv) {
  const std::string usage =
      "Computes the mean image of a database and the mean of each channel.\n"
      "    compute_image_mean [FLAGS] INPUT_DB [OUTPUT_FILE]";
  robusta::DatabaseFlags flags;
  return robusta::run_tool(argc, argv, usage, 1, 2, flags, [&](const std::vector<std::string>& words) {
    const auto mean = robusta::image_mean(*robusta::open_source(words[0], robusta::parse_backend(flags.backend())));
    if (words.size() > 1) {
      LOG_INFO << "Write to " << words[1];
      robusta::write_image_mean(mean, words[1]);
    }
    LOG_INFO << "Number of channels: " << mean.extent.channels;
    for (size_t c = 0; c < mean.channel_values.size(); ++c) {
      LOG_INFO << "mean_value channel [" << c << "]: " << mean.channel_values[c];
    }
  });
}
