"""check_includes.py: the floors of src/layers, and circles."""

import unittest

import check_includes


class FloorsTest(unittest.TestCase):
    def test_a_floor_includes_itself_and_lower_ones(self):
        for name, target in [
            ("layers/kit/unary.h", "layers/kit/math.h"),
            ("layers/backends/gpu/unary.h", "layers/kit/unary.h"),
            ("layers/types/elu/elu_formula.cpp", "layers/backends/formula.h"),
            ("layers/types/prelu/prelu.cpp", "layers/types/prelu/prelu.h"),
        ]:
            self.assertIsNone(check_includes.floor_complaint(name, target), name)

    def test_a_higher_floor_is_refused(self):
        for name, target in [
            ("layers/kit/layer.h", "layers/types/relu/relu.h"),
            ("layers/kit/layer.h", "layers/backends/gpu/unary.h"),
            ("layers/backends/gpu/axis.h", "layers/types/softmax/softmax.h"),
        ]:
            self.assertIn("stands above", check_includes.floor_complaint(name, target))

    def test_a_type_includes_no_other_type(self):
        why = check_includes.floor_complaint("layers/types/prelu/prelu.h", "layers/types/relu/relu.h")
        self.assertIn("layers/kit", why)

    def test_there_are_no_other_floors(self):
        self.assertIn("floors", check_includes.floor_complaint("layers/other/a.h", "layers/kit/layer.h"))


class CirclesTest(unittest.TestCase):
    def test_nodes_that_reach_each_other_are_one_circle(self):
        self.assertEqual(check_includes.circles({("a", "b"), ("b", "c"), ("c", "a"), ("c", "d")}), [("a", "b", "c")])

    def test_a_chain_is_none(self):
        self.assertEqual(check_includes.circles({("a", "b"), ("b", "c"), ("a", "c")}), [])


if __name__ == "__main__":
    unittest.main()
