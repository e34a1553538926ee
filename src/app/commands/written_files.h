/// What commands write beside what they read: a slip in a name must not cost a user the only copy of a file.
#pragma once

#include <string>
#include <vector>

namespace robusta {

/// `prefix` begins the names of files: it is neither empty nor a folder's name. Throws Error{kUsage}.
void require_beginning_of_names(const std::string& flag, const std::string& prefix);

/// None of the files to write is one of those that are read, under whatever name. Throws Error{kUsage}.
void require_others_than_read(const std::string& flag, const std::vector<std::string>& written,
                              const std::vector<std::string>& read);

}  // namespace robusta
