/* A net in plain C: y = W x, forward, backward and one step of training. */

#include <robusta.h>
#include <stdio.h>

static const char* const kNet =
    "layer { name: 'in' type: 'Input' top: 'x' top: 'target' "
    "  input_param { shape { dim: 1 dim: 2 } shape { dim: 1 dim: 1 } } }"
    "layer { name: 'ip' type: 'InnerProduct' bottom: 'x' top: 'y' "
    "  inner_product_param { num_output: 1 bias_term: false } }"
    "layer { name: 'loss' type: 'EuclideanLoss' bottom: 'y' bottom: 'target' top: 'loss' }";

/* Ends the program where a call failed. */
#define CHECK(call)                                          \
  do {                                                       \
    const int kind = (call);                                 \
    if (kind != 0) {                                         \
      fprintf(stderr, "linear: %s\n", robusta_last_error()); \
      return kind;                                           \
    }                                                        \
  } while (0)

int main(void) {
  const float x[2] = {1, 2}, target[1] = {3};
  float w[2] = {0.5f, 0.5f}, gradient[2];
  double before = 0, after = 0;
  robusta_net_options options;
  robusta_net* net = NULL;

  CHECK(robusta_net_options_init(&options));
  options.backward = true;
  CHECK(robusta_net_from_text(kNet, &options, &net));
  CHECK(robusta_net_write(net, "x", x, 2));
  CHECK(robusta_net_write(net, "target", target, 1));
  CHECK(robusta_net_write_parameter(net, "ip", 0, w, 2));
  CHECK(robusta_net_forward(net, &before));
  CHECK(robusta_net_backward(net));
  CHECK(robusta_net_read_parameter_gradient(net, "ip", 0, gradient, 2));
  for (int i = 0; i < 2; ++i) w[i] -= 0.1f * gradient[i];
  CHECK(robusta_net_write_parameter(net, "ip", 0, w, 2));
  CHECK(robusta_net_forward(net, &after));
  printf("Robusta %s: loss %.4f, after a step %.4f\n", robusta_version(), before, after);
  robusta_net_free(net);
  return after < before ? 0 : 1;
}
