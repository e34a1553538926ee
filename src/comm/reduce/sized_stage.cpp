// Choices are ordered by size, and equal on all ranks: else they would wait for messages of another algorithm.

#include "comm/reduce/sized_stage.h"

#include "base/str.h"

namespace robusta {

std::string size_text(size_t bytes) {
  constexpr size_t kKilo = 1024, kMega = kKilo * kKilo;
  if (bytes >= kMega) return str(static_cast<double>(bytes * 10 / kMega) / 10, " MB");
  if (bytes >= kKilo) return str(static_cast<double>(bytes * 10 / kKilo) / 10, " KB");
  return str(bytes, " B");
}

std::string SizedStage::name() const {
  std::string text;
  for (size_t i = 0; i < choices_.size(); ++i) {
    const bool is_last = i + 1 == choices_.size();
    // Neighbours that use the same algorithm are one.
    if (!is_last && choices_[i].stage == choices_[i + 1].stage) continue;
    text += (text.empty() ? "" : ", ") + choices_[i].stage->name();
    if (!is_last) text += " up to " + size_text(choices_[i].most_bytes);
  }
  return text;
}

Stage& SizedStage::stage_for(const Span& span) const {
  for (const Choice& choice : choices_) {
    if (span.bytes() <= choice.most_bytes) return *choice.stage;
  }
  return *choices_.back().stage;
}

}  // namespace robusta
