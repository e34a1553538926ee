/// What is seen outside of librobusta.so: everything marked ROBUSTA_API, and nothing else.
///
/// Programs write robusta::Net for robusta::v1::Net. A later, incompatible interface will be v2: a program or plugin of
/// another version then fails to link instead of running with wrong layouts.
#pragma once

#define ROBUSTA_API __attribute__((visibility("default")))

namespace robusta {
#ifdef ROBUSTA_INSIDE  // src/api/, where the engine has a robusta::Net of its own
namespace v1 {}
#else
inline namespace v1 {}
#endif
}  // namespace robusta
