"""What the cases of the net reach, as tests/golden/net.json.xz shows it: every operation with each
of its flags and choices, every pass, each part of the lowering, every GPU, mode and precision."""
import collections
import re
import sys
import unittest

from support import ROOT

sys.path.insert(0, str(ROOT / "tests" / "net"))
import cases  # noqa: E402
import history  # noqa: E402
import recording  # noqa: E402

# What a pass leaves in a program, or in the lines of its buffers.
PASSES = {
    "accumulation": r"(?m)^m1 forward ",
    "activation_recomputation": r"(?m)^m0 recompute ",
    "casts_of_weights": r"(?m)^m\d forward .*> .*fp8_weight",
    "pipeline": r"(?m)^m0 +send among stages",
    "activation_offload": r"(?m)^m0 copy +@copy_out +h0\.\S+ ",
    "redistribute": r"(?m)^m0 all_to_all among experts",
    "distributed_data_parallel": r"(?m)^ +reduce +@communication +> .*g\.",
    "data_parallel": r"(?m)^ *(m0 )?(send|broadcast)\(",
    "zero": r"(?m)^(m0)? +scatter among shards",
    "update_in_backward": r"(?m)^ +update +h1\..*\n(.*\n)*?m0 backward +h0\.",
    "optimizer_offload": r"(?m)^ +update +h0\.\S+ +@host",
    "parameter_offload": r"(?m)^m0 copy +@copy_in +w\.h0",
    "frozen_weight_offload": r"(?m)^copy +w\.h0\S*\.cast ",
    "lower_collectives": r"(?m)^ +(cast|add) +@communication",
}
# What shows that a file of lib/graph did its work: in the text of a graph. What every pass changes
# is shown by tests/unit/graph/graph_passes_test.cpp.
LOWERINGS = {
    "backward_walk": r"output_gradients=\[[^]]*\d",
    "builder": r"forward: residual_norm\{adds norms",
    "costs": r"(?m)^    elements work=",
    "expert_sharing": r"forward: dispatch_to_ranks\{.*capacity=[1-9]",
    "fp8_gain": r"(?m)^fp8 .*left_out gains_nothing",
    "gradient_scratch": r"name=d\w+ role=scratch",
    "groups": r"(?m)^    parameter .* offset=",
    "lower_head": r"(?m)^  evaluated: cross_entropy",
    "lower_layer": r"(?m)^  remade: ",
    "mixture": r"forward: grouped_linear\{experts=",
    "parameter_rules": r"training=\{trained=false",
    "repetition": r"(?m)^  operations of h0\.",
    "slots": r"(?m)^  slot \d+ .*role=cast_weight",
    "to_blocks": r"(?m)^block name=\S+\.combine .*random_key=",
    "uses": r"(?m)^    uses \d+r .*\d\+",
    "value_map": r"(?m)^  value name=residual1 ",
}
GRAPH_PASSES = {
    "share_experts": r"forward: dispatch_to_ranks",
    "add_adapters": r"forward: low_rank",
    "adapt_embeddings": r"forward: token_rows",
    "fuse_adapters": r"forward: low_rank\{.*\n +operands .*parameters=\[\{value=",
    "cut_frozen_head": r"name=logits_chunk .*dims=\[1728 ",
    "choose_trained": r"training=\{trained=false",
    "carry_sums": r"(?m)^block name=head(?s:.*?)forward: residual_norm\{adds norms",
    "fuse_norms": r"forward: residual_norm\{adds norms",
    "fuse_bias": r"forward: residual_norm\{adds",
    "keep_sums": r"forward: residual_norm\{adds norms",
    "fuse_activation": r"forward: linear\{.*activated=differentiated_behind",
    "sum_attention_bias": r"forward: linear\{.*bias_sum=in_attention",
    "quantize": r"forward: linear\{.*weight_casts=before_gathers",
    "cut_rows": r"forward: heads_by_rank",
    "partition": r"forward: part_loss",
    "quantize_parts": r"(?m)^block name=[^\n]*\.part[ 2](?s:.{0,4000}?)forward: quantize",
}
CHECKS_AND_TEXTS = {"adapter_options", "check_model", "print_model"}
# Flags and choices that no recipe reaches, and why.
NOT_REACHED = {
    **{f"activation.activation={f}": "only experts of GPT-2 have such a layer, with its GELU"
       for f in ("none", "gelu_erf", "tanh", "silu", "relu", "relu_squared")},
    **{f"gated.activation={f}": "no family has such a gate"
       for f in ("none", "tanh", "relu", "relu_squared")},
    **{f"linear.input_activation={f}": "its derivative is not left to the next product"
       for f in ("tanh", "silu")},
    **{f"quantize.activation={f}": "casts compute GELUs and gates"
       for f in ("tanh", "relu", "relu_squared")},
    "exchange.kind=nothing": "of blocks that compute",
    "part_loss.score=confusion": "heads that classify are not cut",
    "quantize.format=e5m2": "gradients are cast by the products that read them",
}


def operations_of(text):
    """(name, its members as written) of each operation in a graph's text."""
    return re.findall(r"(?m)^  (?:forward|remade|backward|evaluated): (\w+)\{(.*)\}$", text)


def members_of(written, before=""):
    """name -> value of the flags and choices among them; those of members' own members have names
    as "member.own", and such a member is "true"."""
    found, at = {}, 0
    while at < len(written):
        name = re.compile(r" *(\w+)(=?)").match(written, at)
        if not name:
            raise ValueError(f"no member begins at {at} of {written}")
        at, key = name.end(), before + name[1]
        if not name[2]:
            found[key] = "true"
            continue
        end = end_of_value(written, at)
        value, at = written[at:end], end
        if value.startswith("{"):
            found |= {key: "true"} | members_of(value[1:-1], key + ".")
        elif not value.startswith("["):
            found[key] = value
    return found


def end_of_value(written, at):
    """Where the value that begins at `at` is over: at a space outside of all brackets."""
    depth = 0
    for end in range(at, len(written)):
        depth += (written[end] in "{[") - (written[end] in "}]")
        if written[end] == " " and depth == 0:
            return end
    return len(written)


class Coverage(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        net = recording.read(ROOT / history.NET)
        cls.operations, cls.cases = net["about"]["operations"], net["cases"]
        cls.texts = collections.defaultdict(set)
        for sections in cls.cases.values():
            for section, text in sections.items():
                cls.texts[recording.kind_and_section(section)[1]].add(text)

    def unreached(self, patterns, section):
        return [name for name, pattern in patterns.items()
                if not any(re.search(pattern, text) for text in self.texts[section])]

    def test_there_are_as_many_recipes_as_are_promised(self):
        trained = sum(case.trains for case in cases.CASES.values())
        print(f"{len(cases.CASES)} recipes, {trained} of them are trained")
        self.assertGreaterEqual(len(cases.CASES), 160)
        self.assertGreaterEqual(len(cases.CASES) - trained, 55)
        self.assertEqual(set(cases.CASES), set(self.cases))

    def test_every_operation_is_in_a_program(self):
        there = {m.group(1) for file in (ROOT / "lib" / "operations").glob("*/*_spec.hpp")
                 if (m := re.search(r'string_view name = "(\w+)"', file.read_text()))}
        self.assertEqual(there, set(self.operations))
        found = {name for text in self.texts["graph"] for name, _ in operations_of(text)}
        self.assertEqual(there - found, set())

    def test_every_flag_and_choice_of_an_operation_is_in_a_program(self):
        seen = collections.defaultdict(set)
        for text in self.texts["graph"]:
            for name, written in set(operations_of(text)):
                written = members_of(written)
                for member, choice in self.operations[name].items():
                    holder = member.rpartition(".")[0]
                    if self.operations[name].get(holder) and holder not in written:
                        continue  # absent, with all that it would hold
                    seen[name, member].add(written.get(member, choice["begins"]))
        missing = {f"{name}.{member}={value}"
                   for name, members in self.operations.items()
                   for member, choice in members.items()
                   for value in choice["values"] if value not in seen[name, member]}
        self.assertEqual(missing - set(NOT_REACHED), set())
        self.assertEqual(set(NOT_REACHED) - missing, set())      # reached by now

    def test_every_pass_changes_a_program(self):
        source = (ROOT / "lib/passes/pass_order.cpp").read_text()
        names = re.findall(r'"(\w+)"', source[source.index("names{"):source.index("};")])
        self.assertEqual(set(names), set(PASSES))
        self.assertEqual(self.unreached(PASSES, "programs"), [])

    def test_every_part_of_the_lowering_is_in_a_graph(self):
        files = {file.stem for file in (ROOT / "lib" / "graph").glob("*.cpp")}
        self.assertEqual(files, set(LOWERINGS) | CHECKS_AND_TEXTS)
        self.assertEqual(self.unreached(LOWERINGS, "graph"), [])

    def test_every_graph_pass_is_in_a_graph(self):
        source = (ROOT / "lib/graph/passes/graph_pass.cpp").read_text()
        names = re.findall(r'\{"(\w+)", (\w+)\}', source)
        self.assertEqual([a for a, b in names if a != b], [])
        self.assertEqual({name for name, _ in names}, set(GRAPH_PASSES))
        self.assertEqual(self.unreached(GRAPH_PASSES, "graph"), [])

    def test_every_gpu_mode_precision_and_place_is_planned(self):
        gpus = {gpu for case in cases.CASES.values() for gpu in case.gpus}
        self.assertLessEqual({"h100", "h200", "a100", "rtx4090"}, gpus)
        wanted = {
            "compute": ("fp32", "tf32", "bf16", "fp16"),
            "scaling": ("current", "delayed", "blocks"),
            "mode": ("single", "ddp", "dp", "zero1", "zero2", "zero3"),
            "where": ("none", "cpu", "disk", "cpu+disk"),
            "parameter_offload": ("none", "cpu", "disk"),
            "activation_offload": ("none", "cpu"),
            "activation_checkpoint": ("none", "selective", "mlp", "full"),
            "master": ("fp32", "split", "none"),
            "rounding": ("nearest", "stochastic"),
            "reduce": ("fp32", "bf16"),
            "pipeline": ("1", "2", "4"),
            "pipeline_schedule": ("1f1b", "interleaved"),
        }
        for key, values in wanted.items():
            for value in values:
                with self.subTest(key=key, value=value):
                    pattern = rf"(?m)^ +{key}: {re.escape(value)}$"
                    self.assertTrue(any(re.search(pattern, t) for t in self.texts["decisions"]))


if __name__ == "__main__":
    unittest.main(verbosity=2)
