/// How this process was started, for whoever wants to do it again.
#pragma once

#include <string>

namespace robusta {

/// Its words as a shell would read them; "" where the system does not tell.
std::string own_command();

/// The command of the launcher - mpirun, srun, ddlrun - that this process was started by on this host, the outermost
/// one; "": it has none, or none here.
std::string launcher_command();

/// A word of a command as a shell would have to be given it.
std::string shell_word(const std::string& word);

/// The folder that it works in; "" where it is gone.
std::string own_directory();

}  // namespace robusta
