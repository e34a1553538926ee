/// Whether this is compiled with a sanitizer, which gcc and clang say in different words.
#pragma once

#if defined(__has_feature)
#define ROBUSTA_HAS_FEATURE(feature) __has_feature(feature)
#else
#define ROBUSTA_HAS_FEATURE(feature) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || ROBUSTA_HAS_FEATURE(address_sanitizer)
#define ROBUSTA_ADDRESS_SANITIZER 1
#else
#define ROBUSTA_ADDRESS_SANITIZER 0
#endif

#if defined(__SANITIZE_THREAD__) || ROBUSTA_HAS_FEATURE(thread_sanitizer)
#define ROBUSTA_THREAD_SANITIZER 1
#else
#define ROBUSTA_THREAD_SANITIZER 0
#endif
