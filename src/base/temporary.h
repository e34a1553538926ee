/// Temporaries: what is written beside its place, and renamed when it is whole.
///
/// Their names are unpredictable and they are made anew or not at all, so that a link or a file that another user of
/// the host left under such a name is neither followed nor overwritten.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace robusta {

/// `path`.tmp.<16 random hexadecimal digits>
std::string temporary_name(const std::string& path);

/// Whether `name` is one that temporary_name(`own`) may have given.
bool is_temporary_of(const std::string& name, const std::string& own);

/// Makes an empty file for writing and locks it for remove_abandoned(), as far as the file system has locks. Returns
/// its descriptor, -1 with errno when something stands there or it cannot be made.
int create_temporary(const std::string& name);

/// Removes the temporaries that writers of files in `folder` left when they died, where `is_ours` accepts the file's
/// own name. A writer locks its temporary: one that is locked, or was written to within the last minute, stays, and so
/// do all where the file system has no locks. Returns the names of those removed; throws nothing.
std::vector<std::string> remove_abandoned(const std::string& folder,
                                          const std::function<bool(const std::string& name)>& is_ours);

}  // namespace robusta
