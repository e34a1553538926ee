// Files are compared by what lies there, so that links and other spellings of a path are seen through.

#include "app/commands/written_files.h"

#include <filesystem>

#include "base/str.h"
#include "robusta/error.h"

namespace robusta {

void require_beginning_of_names(const std::string& flag, const std::string& prefix) {
  if (prefix.empty()) throw Error(ErrorKind::kUsage, flag + " is missing", "say how the files to write shall begin");
  if (prefix.back() != '/') return;
  throw Error(ErrorKind::kUsage, str(flag, " ", prefix, " is a folder"),
              str("say how the files in it shall begin: ", flag, " ", prefix, "net"));
}

void require_others_than_read(const std::string& flag, const std::vector<std::string>& written,
                              const std::vector<std::string>& read) {
  for (const std::string& file : written) {
    for (const std::string& source : read) {
      std::error_code absent;
      if (!std::filesystem::equivalent(file, source, absent)) continue;
      throw Error(ErrorKind::kUsage, str(flag, ": ", file, " would take the place of what is read"),
                  "give another name: nothing was written");
    }
  }
}

}  // namespace robusta
