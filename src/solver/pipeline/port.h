/// A net's ends of channels: what it sends, and what it is sent.
///
/// Each pass waits for a place and enqueues its copy in the net's stream; when the stream has run, done() hands the
/// place on. Blobs travel
/// plain: where the sender's kernel has another layout or type, it converts on its own device first. The net's thread
/// alone.
#pragma once

#include <string>

#include "net/net.h"
#include "solver/pipeline/stage_channel.h"

namespace robusta {

/// Which of a blob's two arrays travels.
enum class Travels { kContent, kGradient };

/// Where the array lies, by the net's plan as it is now.
Tensor array_of(Net& net, const std::string& blob, Travels what);

class Outlet {
 public:
  /// References are kept.
  Outlet(Net& net, std::string blob, Travels what, StageChannel& channel)
      : net_(&net), blob_(std::move(blob)), what_(what), channel_(&channel) {}
  /// Waits for a place. Throws PipelineBroken.
  void await() { place_ = channel_->next_to_fill(); }
  /// Enqueues the copy into it. Throws Error{kUnsupported} where the blob has another shape than the channel.
  void enqueue();
  void done() { channel_->filled(); }

 private:
  const void* converted(const Tensor& from);

  Net* net_;
  std::string blob_;
  Travels what_;
  StageChannel* channel_;
  void* place_ = nullptr;  ///< since await()
  TensorDesc prepared_;    ///< what reorder_ reads
  std::unique_ptr<Reorder> reorder_;
  DeviceBuffer plain_, scratch_;
};

class Inlet {
 public:
  /// References are kept.
  Inlet(Net& net, std::string blob, Travels what, StageChannel& channel)
      : net_(&net), blob_(std::move(blob)), what_(what), channel_(&channel) {}
  /// Waits for a full place. Throws PipelineBroken.
  void await() { place_ = channel_->next_to_empty(); }
  /// Enqueues the copy from it.
  void enqueue();
  void done() { channel_->emptied(); }

 private:
  Net* net_;
  std::string blob_;
  Travels what_;
  StageChannel* channel_;
  const void* place_ = nullptr;  ///< since await()
};

}  // namespace robusta
