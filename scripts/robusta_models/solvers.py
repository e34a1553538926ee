"""Solvers of the networks on one host."""

from .prototxt import Word, text


def solver(folder, prefix, test_iter, test_interval, rate, display, max_iter, decay, snapshot, net="train_val",
           **more):
    start = {"net": f"models/{folder}/{net}.prototxt", "test_iter": test_iter, "test_interval": test_interval,
             "base_lr": rate}
    return text(dict(start, **more, momentum=0.9, weight_decay=decay, display=display, max_iter=max_iter,
                     snapshot=snapshot, snapshot_prefix=f"models/{folder}/{prefix}",
                     solver_mode=Word("CPU"))) + "\n"


INV = {"lr_policy": "inv", "gamma": 0.0001, "power": 0.75}

SOLVERS = {
    "lenet/solver": ("20 test batches of 100 images; 3,000 iterations are 16 epochs of data/digits.",
                     solver("lenet", "lenet", 20, 500, 0.01, 100, 3000, 0.0005, 1000, **INV)),
    "lenet/mnist_solver": ("100 test batches of 100 images cover MNIST's test set.",
                           solver("lenet", "lenet_mnist", 100, 500, 0.01, 100, 10000, 0.0005, 5000,
                                  net="mnist_train_val", **INV)),
    "cifar10_quick/solver": ("100 test batches of 100 images cover the test set; 4,000 iterations are 8 epochs.",
                             solver("cifar10_quick", "cifar10_quick", 100, 500, 0.001, 100, 4000, 0.004, 4000,
                                    lr_policy="fixed")),
    "bvlc_alexnet/solver": ("1,000 test batches of 50 images cover the validation set; 450,000 iterations are 90 "
                            "epochs.",
                            solver("bvlc_alexnet", "bvlc_alexnet", 1000, 1000, 0.01, 20, 450000, 0.0005, 10000,
                                   lr_policy="step", gamma=0.1, stepsize=100000)),
    "bvlc_googlenet/solver": ("1,000 test batches of 50 images; 2,400,000 iterations of 32 images are 60 epochs.",
                              solver("bvlc_googlenet", "bvlc_googlenet", 1000, 4000, 0.01, 40, 2400000, 0.0002, 40000,
                                     lr_policy="poly", power=0.5, average_loss=40, test_initialization=False)),
    "vgg16/solver": ("2,000 test batches of 25 images; 8 x 32 images an update, 370,000 iterations are 74 epochs.",
                     solver("vgg16", "vgg16", 2000, 5000, 0.01, 20, 370000, 0.0005, 10000, iter_size=8,
                            lr_policy="step", gamma=0.1, stepsize=100000, test_initialization=False)),
    "resnet50/solver": ("2,000 test batches of 25 images; 8 x 32 images an update, the rate falls after 30, 60 and 80 "
                        "epochs.",
                        solver("resnet50", "resnet50", 2000, 5000, 0.1, 20, 450000, 0.0001, 10000, iter_size=8,
                               lr_policy="multistep", gamma=0.1, stepvalue=[150000, 300000, 400000],
                               test_initialization=False)),
    "mobilenet_v1/solver": ("1,000 test batches of 50 images; 4 x 32 images an update, 900,000 iterations are 90 "
                            "epochs.",
                            solver("mobilenet_v1", "mobilenet_v1", 1000, 5000, 0.05, 20, 900000, 0.00004, 10000,
                                   iter_size=4, lr_policy="poly", power=1, test_initialization=False)),
    "mobilenet_v2/solver": ("1,000 test batches of 50 images; 3 x 32 images an update, 3,000,000 iterations are 225 "
                            "epochs; the rate falls by 2 % an epoch (section 6.1 of the paper, with momentum for RMSprop).",
                            solver("mobilenet_v2", "mobilenet_v2", 1000, 5000, 0.045, 20, 3000000, 0.00004, 10000,
                                   iter_size=3, lr_policy="step", gamma=0.98, stepsize=13345,
                                   test_initialization=False)),
    "squeezenet/solver": ("2,000 test batches of 25 images; 16 x 32 images an update, 170,000 iterations are 68 "
                          "epochs.",
                          solver("squeezenet", "squeezenet", 2000, 2000, 0.04, 40, 170000, 0.0002, 5000, iter_size=16,
                                 lr_policy="poly", power=1, average_loss=40, test_initialization=False)),
}
