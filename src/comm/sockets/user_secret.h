/// What the ranks of one user know and others do not: where nothing else is given, a file in the user's home.
#pragma once

#include <string>

namespace robusta::sockets {

/// The words of ROBUSTA_TOKEN, or those of robusta/token in $XDG_CONFIG_HOME or ~/.config, which is made with 128
/// random bits when it is not there yet; several processes may make it at a time. Throws Error{kCommunication} where
/// there is no home, and when the file is not this user's alone.
std::string user_secret();

}  // namespace robusta::sockets
