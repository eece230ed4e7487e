"""Parts of the documentation that trainx itself writes: keys, commands, exit codes.

A page marks such a part by two comments, and `fill` replaces what stands between them:

    <!-- generated: NAME -->
    ...
    <!-- end generated -->
"""
import json
import os
import re
import subprocess
import sys

MARKED = re.compile(r"(<!-- generated: ([^>]+?) -->\n).*?(<!-- end generated -->)", re.DOTALL)

EXIT_CODES = {
    "ok": "Done, or already done.",
    "bug": "A bug in trainx. Please report it.",
    "usage": "The command line is wrong.",
    "bad_data": "A data file is malformed. The message names the file and the place in it.",
    "input_missing": "An input file or folder is missing or unreadable.",
    "unavailable": "A device, driver or library is missing or unusable.",
    "out_of_memory": "Host or GPU memory does not suffice. The message says which, by how much, and what to change.",
    "cannot_create": "The output folder is locked or cannot be created, or the output file exists.",
    "io_error": "A read or write failed and kept failing.",
    "stopped_early": "Stopped early with a checkpoint. Run the same command again.",
    "invalid_recipe": "The recipe is invalid, or differs from that of the existing run.",
    "not_as_asked": "What ran is not what the recipe asked for (kernel verification, `trainx verify`).",
    "diverged": "Training diverged: loss or gradients stayed non-finite, or a held-out loss is not finite.",
    "hang": "A rank made no progress for `run.hang_limit`.",
    "peer_lost": "Another rank was lost.",
    "no_checkpoint": "No valid checkpoint: `checkpoint.resume: must` asked for one, or all that exist are damaged.",
}

BYTE_LEVEL, BYTE_FALLBACK, SENTENCEPIECE = "byte-level BPE", "BPE with byte fallback", "SentencePiece"
# Tokenizers of a model's published folders.
TOKENIZERS = {
    "bert": "WordPiece",
    "t5": SENTENCEPIECE,
    "bart": BYTE_LEVEL,
    "mbart": SENTENCEPIECE,
    "roberta": "byte-level BPE",
    "xlm-roberta": "SentencePiece",
    "distilbert": "WordPiece",
    "electra": "WordPiece",
    "modernbert": "byte-level BPE",
    "llama": f"{BYTE_LEVEL} (Llama 3, SmolLM), {BYTE_FALLBACK} (Llama 2, TinyLlama)",
    "mistral": f"{BYTE_FALLBACK} (7B), {BYTE_LEVEL} (Nemo)",
    "helium": SENTENCEPIECE,
    "ernie4_5": SENTENCEPIECE,
    "gemma": BYTE_FALLBACK,
    "gemma2": BYTE_FALLBACK,
    "gemma3_text": BYTE_FALLBACK,
    "phi3": f"{BYTE_FALLBACK} (Phi-3), {BYTE_LEVEL} (Phi-4)",
    "nemotron": SENTENCEPIECE,
    "minicpm3": BYTE_FALLBACK,
    "mixtral": BYTE_FALLBACK,
    **dict.fromkeys(["gpt2", "ministral", "smollm3", "arcee", "seed_oss", "hunyuan_v1_dense", "exaone4", "qwen2", "qwen3", "phi", "olmo", "olmo2", "olmo3",
                     "cohere", "cohere2", "glm", "glm4", "gpt_neox", "granite", "granite_swa", "starcoder2", "stablelm", "nanochat", "opt", "bloom", "deepseek_v2", "deepseek_v3", "youtu",
                     "qwen2_moe", "qwen3_moe", "olmoe", "granitemoe", "glm4_moe", "dots1", "gpt_oss"], BYTE_LEVEL),
}
# Tests of models that have a script of their own.
TESTS = {"gpt2": "`tests/e2e/transformers_test.py`", "bert": "`tests/e2e/bert_test.py`, `tests/e2e/encoders_test.py`",
         "modernbert": "`tests/e2e/encoders_test.py`",
         **dict.fromkeys(["roberta", "xlm-roberta"], "`tests/e2e/bert_test.py`, `tests/e2e/encoders_test.py`"),
         **dict.fromkeys(["distilbert", "electra"], "`tests/e2e/encoders_test.py`"),
         **dict.fromkeys(["t5", "bart", "mbart"], "`tests/e2e/seq2seq_test.py`")}


class Trainx:
    """Answers of the built command, read once each."""

    def __init__(self, path):
        self.path = str(path)
        self._answers = {}

    def __call__(self, *arguments):
        if arguments not in self._answers:
            env = {k: v for k, v in os.environ.items() if not k.startswith("TRAINX_")}
            env["COLUMNS"] = "80"
            done = subprocess.run([self.path, *arguments], capture_output=True, text=True, env=env, check=False)
            if done.returncode != 0:
                raise SystemExit(f"docs: trainx {' '.join(arguments)} ended with {done.returncode}: {done.stderr.strip()}")
            self._answers[arguments] = done.stdout
        return self._answers[arguments]


def cell(text):
    return text.replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")


def table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "".join("| " + " | ".join(cells) + " |\n" for cells in lines)


# --- keys of recipes, from `trainx schema`

def map_of(field):
    """The map that a field may be, or None: sections with a short form take a value or a map."""
    for form in [field, *field.get("anyOf", [])]:
        if form.get("type") == "object" and "properties" in form:
            return form
    return None


def type_words(field):
    words = []
    for form in field.get("anyOf", [field]):
        name = form.get("$ref", "").rpartition("/")[2]
        if name == "interpolation":
            continue
        if name:
            words.append(name)
        elif "enum" in form:
            words += [f"`{w}`" for w in form["enum"]]
        elif "const" in form:
            words.append(f"`{form['const']}`")
        elif form.get("type") == "null":
            words.append("`null`")
        elif form.get("type") == "boolean":
            words += ["`true`", "`false`"]
        elif form.get("type") == "array":
            words.append("list")
        else:
            words.append(form.get("type", "map"))
    return ", ".join(dict.fromkeys(words))


def default_words(field):
    if "default" not in field:
        return ""
    value = field["default"]
    return "`" + (value if isinstance(value, str) else json.dumps(value)) + "`"


def key_rows(prefix, properties):
    for key, field in properties.items():
        if not isinstance(field, dict) or key == "options":
            continue
        inner = map_of(field)
        if inner:
            yield from key_rows(prefix + key + ".", inner["properties"])
            continue
        yield [f"`{prefix}{key}`", cell(type_words(field)), cell(default_words(field)), cell(field.get("description", ""))]
        if field.get("type") == "array" and "properties" in field.get("items", {}):
            own = {k: v for k, v in field["items"]["properties"].items() if isinstance(v, dict) and k != "type"}
            yield from key_rows(f"{prefix}{key}[].", own)


def options_by_table(definitions, section, in_options):
    """Types whose options have the same table share it: {table: ([(type, summary)], rows)}."""
    nested = f"{section}.options." if in_options else section + "."
    found = {}
    for name, of_type in definitions.items():
        kind = name.removeprefix(nested)
        if name == kind or "." in kind or kind == "any":
            continue
        rows = list(key_rows(nested, of_type["properties"]))
        if rows:
            summary = of_type.get("description", kind).removeprefix(kind + ": ")
            found.setdefault(json.dumps(rows), ([], rows))[0].append((kind, summary))
    return found


def keys(trainx):
    schema = json.loads(trainx("schema"))
    head = ["Key", "Type", "Default", "Meaning"]
    out = []
    for section, field in schema["properties"].items():
        section_map = map_of(field)
        if not section_map:
            continue
        out.append(f"### {section}\n\n" + table(head, key_rows(section + ".", section_map["properties"])))
        for kinds, rows in options_by_table(schema["$defs"], section, "options" in section_map["properties"]).values():
            if len(kinds) == 1:
                (kind, summary), = kinds
                out.append(f"`{section}.type: {kind}` ({summary}):\n\n" + table(head, rows))
            else:
                names = ", ".join(f"`{kind}`" for kind, _ in kinds)
                out.append(f"`{section}.type` of {names}:\n\n" + table(head, rows))
    return "\n".join(out)


def alternatives(trainx, what):
    rows = [line.split(None, 1) for line in trainx("list", what).splitlines()]
    return table([what, "Meaning"], [[f"`{name}`", cell(says)] for name, says in rows])


# --- models, from `trainx list models`, the published sizes and the cases of a test

def published_sizes(root):
    """{model_type: names of sizes} of lib/architectures/families, where each is a config.json."""
    sizes = {}
    for path in sorted((root / "lib/architectures/families").glob("*.cpp")):
        name = None
        for family, size in re.findall(r'\{"(\w+)",\s*"[^"]*"|\{"([^"]+)", R"\(', path.read_text()):
            name = family or name
            sizes.setdefault(name, []).extend([size] if size else [])
    return sizes


def family_cases(root):
    """{model_type: tiny models that tests/e2e/families_test.py compares}."""
    sys.path.insert(0, str(root / "tests/e2e"))
    try:
        import tiny_families
    finally:
        sys.path.pop(0)
    count = {}
    for name in tiny_families.names():
        kind = tiny_families.CASES[tiny_families.OLDER.get(name, (name,))[0]][0]
        count[kind] = count.get(kind, 0) + 1
    return count


def models(root, trainx):
    published, cases = published_sizes(root), family_cases(root)
    definitions = json.loads(trainx("schema"))["$defs"]
    rows = []
    for model in json.loads(trainx("list", "models", "--json")):
        name, summary = model["name"], model["summary"]
        if name == "exported":              # any model: docs/models.md has a section of its own
            continue
        sizes = published.get(name, [])
        if not sizes:                       # GPT-2 and BERT name theirs in the summary
            summary, _, named = summary.rstrip(")").rpartition(" (")
            sizes = named.split(", ")
        if name not in TOKENIZERS:
            raise SystemExit(f"docs: model.type {name} has no tokenizer in scripts/generated_tables.py")
        task = definitions[f"model.options.{name}"]["properties"].get("task")
        # the key is the same for all architectures, its meaning says what this one can
        tasks = [w for w in type_words(task).split(", ") if w.strip("`") in task["description"]] if task else ["`causal_lm`"]
        tested = TESTS.get(name) or f"{cases.get(name, 0)} tiny models"
        if tested.startswith("0 "):
            raise SystemExit(f"docs: model.type {name} has no case in tests/e2e/tiny_families.py")
        rows.append([f"`{name}`", cell(summary), ", ".join(sizes), ", ".join(tasks), TOKENIZERS[name], tested])
    return table(["`model.type`", "What it is", "Sizes", "Tasks", "Tokenizers", "Test"], rows)


# --- commands, from --help

def subcommands(help_text):
    """Names and summaries under the heading of subcommands; a summary may go on in further lines."""
    found, inside = {}, False
    for line in help_text.splitlines():
        if re.match(r"[A-Za-z]", line):
            inside = line.lower().startswith(("subcommands", "commands"))
            continue
        entry = re.match(r"  ([a-z][a-z-]*)(?:\s+(.*))?$", line)
        if inside and entry:
            name = entry[1]
            found[name] = entry[2] or ""
        elif inside and line.strip() and found:
            found[name] = (found[name] + " " + line.strip()).strip()
    return found


def all_commands(trainx, names=()):
    for name, summary in subcommands(trainx(*names, "--help")).items():
        path = (*names, name)
        yield path, summary
        yield from all_commands(trainx, path)


def anchor(path):
    return "trainx-" + "-".join(path)


def commands(trainx):
    return table(["Command", "What it does"], [[f"[`trainx {' '.join(p)}`](#{anchor(p)})", cell(s)] for p, s in all_commands(trainx)])


def help_pages(trainx):
    top = trainx("--help")
    own = top[top.index("anywhere:"):] if "anywhere:" in top else ""
    out = []
    for path, _ in all_commands(trainx):
        text = trainx(*path, "--help")
        text = text[:text.index("anywhere:")] if "anywhere:" in text else text
        out.append(f"### trainx {' '.join(path)}\n\n```text\n{text.rstrip()}\n```\n")
    return "### Options of every command\n\n```text\n" + own.rstrip() + "\n```\n\n" + "\n".join(out)


# --- exit codes, from the header that defines them

def exit_codes(root):
    body = re.search(r"enum class ExitCode[^{]*\{(.*?)\};", (root / "lib/core/error.hpp").read_text(), re.DOTALL)[1]
    rows = []
    for name, value in re.findall(r"^\s*(\w+) = (\d+),", body, re.MULTILINE):
        if name not in EXIT_CODES:
            raise SystemExit(f"docs: exit code {name} of lib/core/error.hpp has no meaning in scripts/generated_tables.py")
        rows.append([value, EXIT_CODES[name]])
    rows.append(["128 + n", "Ended by signal n: 129 SIGHUP, 130 Ctrl-C, 143 SIGTERM. A checkpoint is saved first."])
    return table(["Code", "Meaning"], rows)


def part(root, trainx, name):
    word, _, rest = name.partition(" ")
    if word == "keys":
        return keys(trainx)
    if word == "list":
        return alternatives(trainx, rest)
    if word == "models":
        return models(root, trainx)
    if word == "commands":
        return commands(trainx)
    if word == "help":
        return help_pages(trainx)
    if word == "exit-codes":
        return exit_codes(root)
    raise SystemExit(f"docs: nothing generates '{name}'")


def fill(root, trainx, text):
    """The page with its marked parts written anew."""
    return MARKED.sub(lambda m: m[1] + "\n" + part(root, trainx, m[2]).strip() + "\n\n" + m[3], text)


def pages(root):
    return [root / "README.md", *sorted((root / "docs").rglob("*.md"))]
