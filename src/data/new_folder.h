/// A folder that is either whole or absent: filled beside its place, renamed when it is done.
///
/// Until `publish` has succeeded nothing stands at its name, whatever becomes of the process; the destructor removes
/// what was not published.
#pragma once

#include <string>

namespace robusta {

class NewFolder {
 public:
  /// Throws Error{kOutput} when something is at `path` already, or the folder cannot be made. Warns of temporaries that
  /// earlier writers of this folder have left.
  explicit NewFolder(const std::string& path);
  ~NewFolder() { remove(); }
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;

  /// Its name in the end.
  const std::string& path() const { return path_; }
  /// Where it is filled.
  const std::string& temporary() const { return temporary_; }
  /// Syncs it and gives it its name; the files in it have been synced by whoever wrote them. Throws Error{kOutput}.
  void publish();

 private:
  void remove();

  std::string path_, temporary_;
};

}  // namespace robusta
