/// One algorithm for short data and another for long: latency is what the first saves, bytes the second.
#pragma once

#include <memory>
#include <vector>

#include "comm/reduce/stage.h"

namespace robusta {

class SizedStage : public Stage {
 public:
  struct Choice {
    size_t most_bytes;  ///< of the span; the last choice takes all that is larger too
    std::shared_ptr<Stage> stage;
  };
  explicit SizedStage(std::vector<Choice> choices) : choices_(std::move(choices)) {}

  /// "direct up to 64 KB, ring"
  std::string name() const override;
  void reduce_scatter(const Span& span) override { stage_for(span).reduce_scatter(span); }
  void all_gather(const Span& span) override { stage_for(span).all_gather(span); }
  void all_reduce(const Span& span) override { stage_for(span).all_reduce(span); }
  void meet() override {
    for (const Choice& choice : choices_) choice.stage->meet();
  }
  size_t wire_bytes(const Span& span) const override { return stage_for(span).wire_bytes(span); }
  float* left_of(const Span& span) override { return stage_for(span).left_of(span); }

 private:
  Stage& stage_for(const Span& span) const;

  std::vector<Choice> choices_;
};

/// "64 KB", "1.5 MB"
std::string size_text(size_t bytes);

}  // namespace robusta
