/// Nets, training and ranks for other languages than C++: handles, numbers and error codes.
///
/// Functions return 0, or the number of the kind of error (robusta/error.h: 2 a prototxt, 3 data, 4 weights, 5 memory,
/// ...); robusta_last_error() then has the text, with file and line, of the calling thread's last error. Arrays are
/// float32 in C order. Strings are UTF-8 and end with 0; returned ones belong to the library, and hold until the next
/// call with the same handle. A handle is used by one thread at a time; different ones by different threads.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ROBUSTA_C_API __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

/// "0.1.0".
ROBUSTA_C_API const char* robusta_version(void);
/// Of this thread's last call that failed; "" without any. Holds until this thread's next failure.
ROBUSTA_C_API const char* robusta_last_error(void);

/// Called for each line of the log, from any thread; severity 0 information, 1 warning, 2 error. Null: none is wanted,
/// which is how a process begins.
typedef void (*robusta_log_function)(int severity, const char* text, void* context);
ROBUSTA_C_API void robusta_set_log(robusta_log_function function, void* context);

/// Loads layers of one's own (robusta/layer.h).
ROBUSTA_C_API int robusta_load_plugin(const char* path);

typedef struct robusta_net robusta_net;

/// To be set by robusta_net_options_init, and then changed. A later version has more members at the end, none of them
/// within the size of this one.
typedef struct robusta_net_options {
  size_t size;            ///< of this struct, as the program was compiled with it
  bool train;             ///< phase TRAIN instead of TEST
  bool backward;          ///< gradients are wanted
  bool keep_blobs;        ///< every blob may be read after a pass; else inputs and outputs
  int level;              ///< of the net's state
  const char* stages;     ///< of the net's state, separated by commas; null: none
  int gpu;                ///< -1: the processor
  const char* precision;  ///< of activations: "f32", "bf16", "fp16", "auto"; null: as the net says
  const char* kernels;    ///< null: the fastest
  uint64_t seed;
  int64_t batch;  ///< > 0: in place of that of every source
  bool fuse;      ///< kernels may span several layers; false: a pass may begin and end at every layer
} robusta_net_options;

/// Writes the defaults; `size` is that of the struct as the caller knows it, and nothing behind it is touched. An error
/// of kind 1, and options that every call refuses, where it is larger than the library's: that is older than the
/// caller.
ROBUSTA_C_API int robusta_net_options_init_sized(robusta_net_options* options, size_t size);
static inline int robusta_net_options_init(robusta_net_options* options) {
  return robusta_net_options_init_sized(options, sizeof *options);
}

/// A net from a prototxt, or from its text. `options` null: the defaults. To be freed.
ROBUSTA_C_API int robusta_net_from_file(const char* path, const robusta_net_options* options, robusta_net** net);
ROBUSTA_C_API int robusta_net_from_text(const char* text, const robusta_net_options* options, robusta_net** net);
/// Null is allowed. Nets of a solver are freed with it.
ROBUSTA_C_API void robusta_net_free(robusta_net* net);

ROBUSTA_C_API int robusta_net_load_weights(robusta_net* net, const char* path);
ROBUSTA_C_API int robusta_net_save_weights(robusta_net* net, const char* path);

/// Names by index; null behind the last. Layers are in the order of forward.
ROBUSTA_C_API const char* robusta_net_layer(robusta_net* net, int index);
ROBUSTA_C_API const char* robusta_net_input(robusta_net* net, int index);
ROBUSTA_C_API const char* robusta_net_output(robusta_net* net, int index);
ROBUSTA_C_API const char* robusta_net_blob(robusta_net* net, int index);

/// The extents of a blob, at most `most` of them, slowest first; `axes` becomes their number.
ROBUSTA_C_API int robusta_net_shape(robusta_net* net, const char* blob, int64_t* extents, int most, int* axes);
ROBUSTA_C_API int robusta_net_reshape(robusta_net* net, const char* input, const int64_t* extents, int axes);
/// The same of `count` inputs at once, whose shapes have to fit together: names, the extents of each, their numbers.
ROBUSTA_C_API int robusta_net_reshape_inputs(robusta_net* net, int count, const char* const* inputs,
                                             const int64_t* const* extents, const int* axes);

/// `loss` may be null.
ROBUSTA_C_API int robusta_net_forward(robusta_net* net, double* loss);
ROBUSTA_C_API int robusta_net_backward(robusta_net* net);
/// Over the layers from `start` to `end`, both included; null: from (to) the layer that a whole pass begins (ends)
/// with. Backward starts at the later layer. For nets built with keep_blobs; an error of kind 9 where one kernel
/// computes layers on both sides of an end, or what is needed there is not kept.
ROBUSTA_C_API int robusta_net_forward_part(robusta_net* net, const char* start, const char* end, double* loss);
ROBUSTA_C_API int robusta_net_backward_part(robusta_net* net, const char* start, const char* end);

/// `count` is the number of elements; one that does not fit is an error of kind 1.
ROBUSTA_C_API int robusta_net_read(robusta_net* net, const char* blob, float* numbers, size_t count);
ROBUSTA_C_API int robusta_net_read_gradient(robusta_net* net, const char* blob, float* numbers, size_t count);
ROBUSTA_C_API int robusta_net_write(robusta_net* net, const char* blob, const float* numbers, size_t count);
/// For robusta_net_backward_part to begin with.
ROBUSTA_C_API int robusta_net_write_gradient(robusta_net* net, const char* blob, const float* numbers, size_t count);

/// Gives a MemoryData layer `samples` samples of `count` numbers in all, and a label for each; they are copied.
ROBUSTA_C_API int robusta_net_set_samples(robusta_net* net, const char* layer, const float* data, size_t count,
                                          const float* labels, size_t samples);

/// Parameters by layer and index within it. `count`: as above; to learn it, robusta_net_parameter_count.
ROBUSTA_C_API int robusta_net_parameter_count(robusta_net* net, const char* layer, int index, size_t* count);
ROBUSTA_C_API int robusta_net_read_parameter(robusta_net* net, const char* layer, int index, float* numbers,
                                             size_t count);
ROBUSTA_C_API int robusta_net_write_parameter(robusta_net* net, const char* layer, int index, const float* numbers,
                                              size_t count);
ROBUSTA_C_API int robusta_net_read_parameter_gradient(robusta_net* net, const char* layer, int index, float* numbers,
                                                      size_t count);

/// The picture in a file (JPEG, PNG, BMP, WebP), in planes of `channels` (3: blue, green, red; 1: grey), resized to
/// `height` x `width` pixels, as numbers from 0 to 255; `count` is channels x height x width (robusta/image.h).
ROBUSTA_C_API int robusta_load_image(const char* path, int channels, int64_t height, int64_t width, float* numbers,
                                     size_t count);
/// The mean of each of so many channels of a mean image (mean.binaryproto, .npy).
ROBUSTA_C_API int robusta_load_channel_means(const char* path, float* means, size_t channels);

typedef struct robusta_ranks robusta_ranks;

/// The ranks that a launcher started (mpirun, srun, torchrun), this process being one of them; alone without a
/// launcher. At most one at a time. To be freed; every call on it is made by all ranks, in the same order
/// (robusta/communicator.h).
ROBUSTA_C_API int robusta_ranks_world(robusta_ranks** ranks);
/// Ranks that a program starts itself meet at host and port, where rank 0 listens, within so many seconds; `secret` is
/// the same for all, and has 16 characters at least.
ROBUSTA_C_API int robusta_ranks_meet(int rank, int size, const char* host, int port, const char* secret, double seconds,
                                     robusta_ranks** ranks);
/// Null is allowed. Waits for the other ranks.
ROBUSTA_C_API void robusta_ranks_free(robusta_ranks* ranks);

/// -1 for null.
ROBUSTA_C_API int robusta_ranks_rank(const robusta_ranks* ranks);
ROBUSTA_C_API int robusta_ranks_size(const robusta_ranks* ranks);
/// Among the ranks of this host: the GPU that a rank takes, for one.
ROBUSTA_C_API int robusta_ranks_local_rank(const robusta_ranks* ranks);
ROBUSTA_C_API int robusta_ranks_local_size(const robusta_ranks* ranks);
/// The name of this rank's host; null for null.
ROBUSTA_C_API const char* robusta_ranks_host(robusta_ranks* ranks);

ROBUSTA_C_API int robusta_ranks_barrier(robusta_ranks* ranks);
/// `bytes` of them from rank `root` to all.
ROBUSTA_C_API int robusta_ranks_broadcast(robusta_ranks* ranks, void* data, size_t bytes, int root);
/// Sums over the ranks, element by element, in place; the same bits on every rank.
ROBUSTA_C_API int robusta_ranks_all_reduce(robusta_ranks* ranks, float* numbers, size_t count);
ROBUSTA_C_API int robusta_ranks_all_reduce_doubles(robusta_ranks* ranks, double* numbers, size_t count);
/// The same of several arrays, which travel together: sooner than one by one where they are small.
ROBUSTA_C_API int robusta_ranks_all_reduce_n(robusta_ranks* ranks, int arrays, float* const* numbers,
                                             const size_t* counts);

typedef struct robusta_solver robusta_solver;

/// A training on the GPU of that number; -1: on the processor. To be freed.
ROBUSTA_C_API int robusta_solver_from_file(const char* path, int gpu, robusta_solver** solver);
ROBUSTA_C_API int robusta_solver_from_text(const char* text, int gpu, robusta_solver** solver);
/// One training of all ranks, which call this together. `ranks` lives longer than the solver.
ROBUSTA_C_API int robusta_solver_from_file_over(const char* path, int gpu, robusta_ranks* ranks,
                                                robusta_solver** solver);
ROBUSTA_C_API void robusta_solver_free(robusta_solver* solver);

ROBUSTA_C_API int robusta_solver_solve(robusta_solver* solver);
ROBUSTA_C_API int robusta_solver_step(robusta_solver* solver, int iterations);
ROBUSTA_C_API int robusta_solver_snapshot(robusta_solver* solver);
ROBUSTA_C_API int robusta_solver_restore(robusta_solver* solver, const char* state);
ROBUSTA_C_API int robusta_solver_iteration(robusta_solver* solver);
/// Belongs to the solver.
ROBUSTA_C_API robusta_net* robusta_solver_net(robusta_solver* solver);

/// Called after each iteration, on the thread that trains. Null ends that.
typedef void (*robusta_iteration_function)(int iteration, double loss, double rate, void* context);
ROBUSTA_C_API void robusta_solver_on_iteration(robusta_solver* solver, robusta_iteration_function function,
                                               void* context);
/// From any thread: ends the training after the iteration that is under way.
ROBUSTA_C_API void robusta_solver_request_stop(robusta_solver* solver);

#ifdef __cplusplus
}
#endif
