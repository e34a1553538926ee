/// What is seen outside of librobusta.so: everything marked ROBUSTA_API, and nothing else.
///
/// Programs write robusta::Net for robusta::v1::Net. A later, incompatible interface will be v2: a program or plugin of
/// another version then fails to link instead of running with wrong layouts.
#pragma once

#define ROBUSTA_API __attribute__((visibility("default")))

// The namespace's name where it is opened. src/api/ opens it as a plain one: the engine has a robusta::Net of its own.
#ifdef ROBUSTA_INSIDE
#define ROBUSTA_V1 v1
#else
#define ROBUSTA_V1 inline v1
#endif
