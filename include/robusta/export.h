/// What is seen outside of librobusta.so: everything marked ROBUSTA_API, and nothing else.
#pragma once

#define ROBUSTA_API __attribute__((visibility("default")))
