/// Zeroed memory of this process, aligned to a page.
#pragma once

#include <cstddef>
#include <memory>

namespace robusta {

inline constexpr size_t kPage = 4096;

constexpr size_t whole_pages(size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

/// Throws Error{kMemory}.
std::shared_ptr<std::byte> allocate_pages(size_t bytes);

}  // namespace robusta
