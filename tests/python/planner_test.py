"""The planner from Python: values agree with each other and with the files; jobs that cannot be planned raise errors."""

import os
import pickle
import re
import unittest
import warnings

import xylem

ZOO = os.path.join(os.path.dirname(__file__), "..", "..", "topologies")
A40 = os.path.join(ZOO, "seed-a40x2.xml")
H100 = os.path.join(ZOO, "dgxh100.xml")


class PlanTest(unittest.TestCase):
    def test_counts_and_rings(self):
        plan = xylem.plan(A40, hosts=2)
        self.assertEqual((plan.ranks, plan.nodes, plan.channels), (4, 2, 2))
        self.assertEqual(plan.rings, [[0, 1, 2, 3]] * 2)
        self.assertEqual(plan.tree(0), xylem.Tree(up=None, down=[1, 2]))
        with self.assertRaises(IndexError):
            plan.ring(2)

    def test_graphs_and_paths(self):
        plan = xylem.plan(A40)
        self.assertEqual(plan.ring_graph.pattern, "RING")
        self.assertEqual(plan.ring_graph.type_intra, "NVL")
        paths = xylem.plan(A40, hosts=2).paths("GPU", "NET")
        self.assertEqual({path.source for path in paths}, {"GPU/0-99000", "GPU/0-bd000"})
        for path in paths:
            self.assertEqual((path.type, path.via[-1]), ("SYS", "NET/0-2"))
        self.assertEqual(xylem.plan(A40, hosts=2).paths("gpu", "net"), paths)
        self.assertEqual({path.source for path in plan.paths("GPU/0-BD")}, {"GPU/0-bd000"})
        self.assertFalse(plan.paths("NVS"))  # a kind of node that this host has none of
        for wrong in ("gpu0", "switch", 0):
            with self.assertRaisesRegex(xylem.PlanError, f"source: found {wrong!r}; expected a node"):
                plan.paths(wrong)

    def test_tuning(self):
        plan = xylem.plan(A40, hosts=2)
        small, large = plan.tune("AllReduce", ["8", "1G"])
        self.assertEqual((small.bytes, small.algorithm, small.protocol), (8, "Ring", "LL"))
        self.assertEqual((large.bytes, large.algorithm, large.protocol), (1 << 30, "Tree", "Simple"))
        self.assertGreater(large.microseconds, small.microseconds)
        self.assertEqual(len(plan.tune()), 5 * 11)
        self.assertEqual(plan.choice("AllReduce", 8), small)
        self.assertEqual([choice.bytes for choice in plan.tune("AllReduce", "16")], [16])
        self.assertEqual([choice.bytes for choice in plan.tune("AllReduce", 1 << 20)], [1 << 20])
        self.assertEqual((small.runner_up.algorithm, small.runner_up.protocol), ("Tree", "LL"))
        times = [candidate.microseconds for candidate in small.candidates]
        self.assertEqual((times, times[0]), (sorted(times), small.microseconds))
        forced = xylem.plan(A40, settings={"NCCL_ALGO": "Ring", "NCCL_PROTO": "LL"}).choice("AllReduce", 8)
        self.assertIsNone(forced.runner_up)
        with self.assertRaisesRegex(xylem.PlanError, "AllSum"):
            plan.choice("AllSum", 8)
        with self.assertRaisesRegex(ValueError, "b'16M' is no message size"):
            plan.tune("AllReduce", b"16M")

    def test_plans_are_values(self):
        with open(A40, encoding="utf-8") as file:
            text = file.read()
        ring = {"NCCL_ALGO": "Ring"}
        plans = [xylem.plan(A40), xylem.plan(text, hosts=2, nvls=False), xylem.plan(A40, settings=ring, collnet=True),
                 xylem.plan([xylem.Host(H100), xylem.Host(A40, gpus=(1, 0))])]
        for plan in plans:
            copy = pickle.loads(pickle.dumps(plan))
            self.assertEqual((copy, hash(copy), repr(copy)), (plan, hash(plan), repr(plan)))
        self.assertEqual(len(set(plans)), len(plans))
        self.assertEqual(xylem.plan(A40), plans[0])
        self.assertNotEqual(xylem.plan(A40, settings=ring), plans[0])
        self.assertNotEqual(plans[0], A40)

    def test_xml_and_hosts_that_differ(self):
        with open(A40, encoding="utf-8") as file:
            self.assertEqual(xylem.plan(file.read()).ranks, 2)
        mixed = xylem.plan([xylem.Host(H100, count=2), xylem.Host(A40, gpus=(1, 0))])
        self.assertEqual((mixed.ranks, mixed.nodes), (18, 3))
        self.assertTrue(mixed.paths("GPU", "GPU"))
        with self.assertRaisesRegex(xylem.PlanError, r"hosts: found 4 beside xylem.Host; expected xylem.Host\(..., count=4\)"):
            xylem.plan(xylem.Host(A40), hosts=4)

    def test_refusals(self):
        with self.assertRaisesRegex(xylem.PlanError, "nowhere.xml"):
            xylem.plan("nowhere.xml")
        with self.assertRaisesRegex(xylem.PlanError, "NCCL_CROSS_NIX"):
            xylem.plan(A40, settings={"NCCL_CROSS_NIX": 0})
        self.assertTrue(issubclass(xylem.PlanError, ValueError))

    def test_what_is_no_job_is_named_by_its_argument(self):
        for arguments, text in [
            ({"hosts": "2"}, "hosts: found '2'; expected a whole number"), ({"hosts": 2.0}, "hosts: found 2.0"),
            ({"hosts": 1 << 31}, "hosts: found"), ({"hosts": 0}, "hosts: found 0"),
            ({"settings": "NCCL_ALGO=Ring"}, "settings: found"), ({"nvls": "yes"}, "nvls, collnet: found 'yes'"),
            ({"nccl": 2.27}, "2.27")]:
            with self.subTest(arguments), warnings.catch_warnings(record=True):
                if "nccl" in arguments:  # as text; Python prints it as that version
                    self.assertEqual(xylem.plan(A40, **arguments).ranks, 2)
                    continue
                with self.assertRaisesRegex(xylem.PlanError, re.escape(text)):
                    xylem.plan(A40, **arguments)
        for machine, text in [(None, "machine: found None"), (5, "machine: found 5"), (b"a.xml", "machine: found b'a.xml'"),
                              (["a.xml"], "machine: found 'a.xml' in the list"), ("a\0b", "machine: found"),
                              ([xylem.Host("<system/>\n")], "Host.file: found"),
                              (xylem.Host(A40, count="2"), "Host.count: found '2'"),
                              (xylem.Host(A40, gpus=0), "Host.gpus: found 0")]:
            with self.subTest(machine), self.assertRaisesRegex(xylem.PlanError, re.escape(text)):
                xylem.plan(machine)
        self.assertEqual(xylem.plan(xylem.Host(A40, gpus=None)).ranks, 2)

    def test_assumes_and_warns_as_the_command_does(self):
        h100 = xylem.plan(H100, hosts=2)
        self.assertEqual(h100.assumptions, ["NVLS, as drivers offer it on a machine with an NVSwitch"])
        self.assertEqual(h100.choice("AllReduce", "1G").algorithm, "NVLSTree")
        self.assertNotIn("NVLS", xylem.plan(H100, hosts=2, nvls=False).choice("AllReduce", "1G").algorithm)
        one = xylem.plan(H100, hosts=2, settings={"NCCL_IB_HCA": "=mlx5_0"})
        self.assertIn("1 of 8 NICs, as NCCL_IB_HCA==mlx5_0", one.assumptions[0])
        with self.assertWarnsRegex(UserWarning, "NCCL 3.1.0 is planned by the rules of"):
            xylem.plan(A40, nccl="3.1")
        with open(A40, encoding="utf-8") as file, self.assertWarnsRegex(UserWarning, "Ignoring element disk"):
            xylem.plan(file.read().replace("</cpu>", "<disk/></cpu>", 1))


class WhyTest(unittest.TestCase):
    def test_an_answer_has_rule_inputs_and_variable(self):
        answer = xylem.plan(A40, hosts=2).why("gdr gpu0 nic2")
        self.assertIs(answer.yes, False)
        step = answer.step("gdr-receive")
        self.assertEqual(step.variable, "NCCL_NET_GDR_LEVEL")
        self.assertEqual(step.input("distance"), "SYS (9)")
        self.assertEqual(step.sources[0].file, A40)
        self.assertGreater(step.sources[0].line, 0)
        self.assertIsNone(step.input("colour"))
        self.assertEqual(answer.what_if[0].setting, "NCCL_NET_GDR_LEVEL=SYS")
        self.assertIn(step.text, repr(answer))

    def test_questions_that_cannot_be_asked(self):
        with self.assertRaisesRegex(xylem.PlanError, "gpu9"):
            xylem.plan(A40).why(["gdr", "gpu9", "nic2"])
        with self.assertRaisesRegex(xylem.PlanError, "No closing quotation"):
            xylem.plan(A40).why("gdr 'gpu0")


class DiffTest(unittest.TestCase):
    def test_a_setting_and_what_follows(self):
        before = xylem.plan(A40, hosts=2)
        after = xylem.plan(A40, hosts=2, settings={"NCCL_NET_GDR_LEVEL": "SYS"})
        diff = xylem.diff(before, after)
        self.assertTrue(diff)
        self.assertEqual([(c.what, c.before, c.after) for c in diff.sections["asked"]],
                         [("NCCL_NET_GDR_LEVEL", "not set", "SYS")])
        self.assertEqual({(c.before, c.after) for c in diff.sections["decisions"]}, {("no", "yes")})
        self.assertIn("GPU 0 to NET 2", diff.sections["decisions"][0].things)

    def test_the_same_plan(self):
        self.assertFalse(xylem.diff(xylem.plan(A40), xylem.plan(A40)))
        with self.assertRaisesRegex(TypeError, "diff: found 'x'"):
            xylem.diff(xylem.plan(A40), "x")

    def test_choices(self):
        diff = xylem.diff(xylem.plan(A40), xylem.plan(A40, settings={"NCCL_PROTO": "Simple"}))
        self.assertTrue(diff.choices)
        self.assertTrue(all(choice.after.endswith("Simple") for choice in diff.choices if choice.after))


class ReprTest(unittest.TestCase):
    def test_notebooks_get_tables(self):
        plan = xylem.plan(A40)
        for value in (plan, plan.tune(), plan.paths(), plan.why("path gpu0 gpu1"),
                      xylem.diff(plan, xylem.plan(A40, hosts=2))):
            self.assertIn("<table>", value._repr_html_())
            self.assertTrue(repr(value))

    def test_sizes(self):
        self.assertEqual([xylem.parse_size(s) for s in (7, "8", "1.5K", "2MiB", "1 GB", "549755813889")],
                         [7, 8, 1536, 2 << 20, 1 << 30, 549755813889])
        for wrong in ("", "many", "-1", -1, 1e6, None, 2 << 40, "9" * 400):
            with self.assertRaises(ValueError):
                xylem.parse_size(wrong)

    def test_everything_public_is_documented(self):
        for name in xylem.__all__:
            value = getattr(xylem, name)
            self.assertTrue(value.__doc__, name)
            for member, thing in vars(value).items() if isinstance(value, type) else ():
                if callable(thing) and not member.startswith("_") or isinstance(thing, property):
                    self.assertTrue(thing.__doc__, f"{name}.{member}")


if __name__ == "__main__":
    unittest.main()
