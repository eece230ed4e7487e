"""Tokenizer folders in the forms in which they are published, and what AutoTokenizer of transformers makes of them.

    reference_tokenizer_folders.py OUT SEED TEXTS [CASE ...]     OUT/<case>/ holds the folder and expected.json

CASE is a class and a form (`bert/words`), or one of its variants (`bert/words/2`); none: all. Prints
the cases as JSON. expected.json: {"texts": lines for `data tokenize -`, "ids", "types", "special",
"mask"}, or {"refused": why} where transformers cannot build it.
"""
import base64
import functools
import json
import pathlib
import random
import sys
import warnings

import random_text
import tokenizer_folders

warnings.filterwarnings("ignore")
VARIANTS = 6
WORDS = [w for w in random_text.WORDS if w not in ("", "<|endoftext|>")]
LANGUAGES = ["en_XX", "de_DE", "zh_CN"]


def corpus(source):
    out = []
    for _ in range(1500):
        words = [source.choice(WORDS + "the a of ferry leaves at noon with cargo apples harbour it's we're numbers 12 345 HELLO".split()) for _ in range(12)]
        out.append("".join(w + source.choice([" ", " ", " ", ", ", ". ", "  ", "\n"]) for w in words).strip().replace("\n", " "))
    return out


class Vocabularies:
    """What the folders hold, learned once."""

    def __init__(self, out, source):
        from tokenizers import Tokenizer, models, pre_tokenizers, trainers
        self.out, self.lines = out, corpus(source)
        bpe = Tokenizer(models.BPE())
        bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        bpe.train_from_iterator(self.lines, trainers.BpeTrainer(vocab_size=700, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
        model = json.loads(bpe.to_str())["model"]
        self.bpe, self.merges = model["vocab"], [m if isinstance(m, str) else " ".join(m) for m in model["merges"]]
        words = Tokenizer(models.WordPiece(unk_token="[UNK]"))
        words.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        lower = [line.lower() for line in self.lines]
        words.train_from_iterator(self.lines + lower, trainers.WordPieceTrainer(vocab_size=900, limit_alphabet=400, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"], show_progress=False))
        self.words = json.loads(words.to_str())["model"]["vocab"]

    @functools.cached_property
    def published(self):
        """Tokenizers that are published as tokenizer.json alone, of the kinds of several families."""
        import reference_tokenizers as kinds
        made = {"llama3": kinds.llama3(self.lines, 700), "gpt_oss": kinds.llama3(self.lines, 700, kinds.GPT4O), "bloom": kinds.gpt2(self.lines, 700), "llama2": kinds.llama2(self.lines, 900)}
        return {**made, "deepseek": deepseek(made["llama3"]), "modernbert": modernbert(made["bloom"])}

    def pieces(self, kind, special, name="", **more):
        """A SentencePiece file."""
        import sentencepiece
        path = self.out / f"{kind}{name}.model"
        if not path.exists():
            text = self.out / "corpus.txt"
            text.write_text("\n".join(self.lines))
            sentencepiece.SentencePieceTrainer.train(input=str(text), model_prefix=str(path.with_suffix("")), model_type=kind, vocab_size=900, hard_vocab_limit=False,
                                                     num_threads=1, minloglevel=2, **special, **more)
        return path.read_bytes()


def deepseek(base):
    """With DeepSeek-V3's pre-tokenizers."""
    from tokenizers import Regex, Tokenizer, pre_tokenizers
    t = Tokenizer.from_str(base.to_str())
    words = (r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"
             r"| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
    cuts = [pre_tokenizers.Split(Regex(cut), "isolated") for cut in (r"\p{N}{1,3}", "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+", words)]
    t.pre_tokenizer = pre_tokenizers.Sequence([*cuts, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    return t


def modernbert(base):
    """With NFC, and [CLS] and [SEP] around a text."""
    from tokenizers import AddedToken, Tokenizer, normalizers, processors
    t = Tokenizer.from_str(base.to_str())
    t.normalizer = normalizers.NFC()
    t.add_special_tokens(["[CLS]", "[SEP]", AddedToken("[MASK]", lstrip=True)])
    t.add_tokens([AddedToken(" " * n, normalized=True) for n in range(2, 8)])
    t.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[(x, t.token_to_id(x)) for x in ("[CLS]", "[SEP]")])
    return t


# ---- forms: files of a folder without tokenizer.json

def merges(v, special, **_):
    vocab = dict(v.bpe)
    for token in special:
        vocab.setdefault(token, len(vocab))
    return {"vocab.json": json.dumps(vocab, ensure_ascii=False), "merges.txt": "#version: 0.2\n" + "\n".join(v.merges) + "\n"}


def roberta_merges(v, **_):
    order = ["<s>", "<pad>", "</s>", "<unk>", *v.bpe, "<mask>"]
    return {"vocab.json": json.dumps({t: i for i, t in enumerate(order)}, ensure_ascii=False), "merges.txt": "#version: 0.2\n" + "\n".join(v.merges) + "\n"}


def words(v, **_):
    return {"vocab.txt": "\n".join(sorted(v.words, key=v.words.get)) + "\n"}


FAIRSEQ = {"unk_id": 0, "bos_id": 1, "eos_id": 2, "pad_id": -1}


def spiece(kind, name, special, label="", **more):
    return lambda v, **_: {name: v.pieces(kind, special, label, **more)}


def byte_ranks(v):
    """The bytes of tokens, in the order of their ids."""
    from tokenizers import pre_tokenizers
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    kept = [b for b in range(256) if 33 <= b <= 126 or 161 <= b <= 172 or 174 <= b <= 255]
    code = {chr(b): b for b in kept} | {chr(256 + i): b for i, b in enumerate(b for b in range(256) if b not in kept)}
    assert sorted(code) == alphabet
    return [bytes(code[c] for c in token) for token in sorted(v.bpe, key=v.bpe.get)]


def tekken(v, **_):
    special = [{"rank": i, "token_str": t, "is_control": True} for i, t in enumerate(["<unk>", "<s>", "</s>", "[INST]"])]
    vocab = [{"rank": i, "token_bytes": base64.b64encode(b).decode(), "token_str": None} for i, b in enumerate(byte_ranks(v))]
    config = {"pattern": r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+", "num_vocab_tokens": len(vocab),
              "default_vocab_size": len(vocab) + len(special), "default_num_special_tokens": len(special), "version": "v3"}
    return {"tekken.json": {"config": config, "vocab": vocab, "special_tokens": special}}


def tiktoken(v, **_):
    return {"tiktoken.model": "".join(f"{base64.b64encode(b).decode()} {i}\n" for i, b in enumerate(byte_ranks(v)))}


T5 = {"pad_id": 0, "eos_id": 1, "unk_id": 2, "bos_id": -1}
LLAMA = {"unk_id": 0, "bos_id": 1, "eos_id": 2, "pad_id": -1}
GEMMA = {"pad_id": 0, "eos_id": 1, "bos_id": 2, "unk_id": 3, "bos_piece": "<bos>", "eos_piece": "<eos>"}
ALBERT = {"pad_id": 0, "unk_id": 1, "bos_id": -1, "eos_id": -1, "control_symbols": ["[CLS]", "[SEP]"], "user_defined_symbols": ["[MASK]"]}

# class -> (model_types, {form: files}, special tokens of the vocabulary, settings that vary)
BYTE_SETTINGS = {"add_prefix_space": [True, False], "add_bos_token": [True, False], "add_eos_token": [True, False], "errors": ["replace"]}
CLASSES = {
    "gpt2": ("GPT2Tokenizer", ["gpt2", "opt", "phi", "starcoder2"], {"merges": merges}, ["<|endoftext|>", "<s>", "</s>", "<pad>"], BYTE_SETTINGS),
    "gpt_neox": ("GPTNeoXTokenizer", ["gpt_neox", "olmo", "olmoe"], {"merges": merges}, ["<|endoftext|>", "<|padding|>"], BYTE_SETTINGS),
    "qwen2": ("Qwen2Tokenizer", ["qwen2", "qwen3", "qwen2_moe", "qwen3_moe"], {"merges": merges}, ["<|endoftext|>"], {"add_prefix_space": [True, False], "add_bos_token": [False]}),
    "cohere": ("CohereTokenizer", ["cohere", "cohere2"], {}, ["<UNK>", "<BOS_TOKEN>", "<|END_OF_TURN_TOKEN|>", "<PAD>"], BYTE_SETTINGS),
    "roberta": ("RobertaTokenizer", ["roberta", "bart"], {"merges": roberta_merges}, ["<s>", "</s>", "<mask>"], {"add_prefix_space": [True, False], "trim_offsets": [True, False]}),
    "bart": ("BartTokenizer", ["bart"], {"merges": roberta_merges}, ["<s>", "</s>", "<mask>"], {"add_prefix_space": [True, False]}),
    "bert": ("BertTokenizer", ["bert", "electra", "distilbert"], {"words": words}, ["[CLS]", "[SEP]", "[MASK]"],
             {"do_lower_case": [True, False], "strip_accents": [True, False, None], "tokenize_chinese_chars": [True, False], "do_basic_tokenize": [True]}),
    "distilbert": ("DistilBertTokenizer", ["distilbert"], {"words": words}, ["[CLS]", "[SEP]", "[MASK]"], {"do_lower_case": [True, False], "strip_accents": [True, None]}),
    "xlm_roberta": ("XLMRobertaTokenizer", ["xlm-roberta"], {"pieces": spiece("unigram", "sentencepiece.bpe.model", FAIRSEQ)}, ["<s>", "</s>", "<mask>"], {"add_prefix_space": [True, False]}),
    "t5": ("T5Tokenizer", ["t5", "mt5", "switch_transformers"], {"pieces": spiece("unigram", "spiece.model", T5, "-t5")}, ["</s>", "<pad>", "<extra_id_0>", "<extra_id_99>"], {"extra_ids": [100, 10, 0], "legacy": [True, False]}),
    "mbart": ("MBartTokenizer", ["mbart"], {"pieces": spiece("unigram", "sentencepiece.bpe.model", FAIRSEQ)}, ["</s>", "<mask>", *LANGUAGES], {"src_lang": LANGUAGES, "tgt_lang": LANGUAGES}),
    "mbart50": ("MBart50Tokenizer", ["mbart"], {"pieces": spiece("unigram", "sentencepiece.bpe.model", FAIRSEQ)}, ["</s>", "<mask>", *LANGUAGES], {"src_lang": LANGUAGES, "tgt_lang": LANGUAGES}),
    "albert": ("AlbertTokenizer", ["albert"], {"pieces": spiece("unigram", "spiece.model", ALBERT, "-albert")}, ["[CLS]", "[SEP]", "[MASK]"], {"do_lower_case": [True, False], "keep_accents": [True, False]}),
    "llama": ("LlamaTokenizer", ["llama", "mistral", "mixtral", "phi3", "stablelm", "helium"],
              {"pieces": spiece("bpe", "tokenizer.model", LLAMA, byte_fallback=True, split_digits=True, normalization_rule_name="identity")}, ["<s>", "</s>", "<unk>"],
              {"add_bos_token": [True, False], "add_eos_token": [True, False], "add_prefix_space": [True, False, None], "legacy": [True, False, None]}),
    "gemma": ("GemmaTokenizer", ["gemma", "gemma2", "gemma3_text"],
              {"pieces": spiece("bpe", "tokenizer.model", GEMMA, "-gemma", byte_fallback=True, split_digits=True, allow_whitespace_only_pieces=True, normalization_rule_name="identity", user_defined_symbols=["<start_of_turn>", "<end_of_turn>"])},
              ["<bos>", "<eos>", "<start_of_turn>"], {"add_bos_token": [True, False], "add_eos_token": [True, False]}),
    "backend": ("PreTrainedTokenizerFast", ["llama", "granite", "olmo2", "glm4", "modernbert", "deepseek_v3", "bloom", "mistral", "ministral", "gpt_oss", "nemotron", "seed_oss"],
                {"pieces": spiece("bpe", "tokenizer.model", LLAMA, byte_fallback=True, split_digits=True, normalization_rule_name="identity"), "unigrams": spiece("unigram", "tokenizer.model", T5, "-t5"),
                 "tekken": tekken, "tiktoken": tiktoken},
                ["<s>", "</s>", "<|begin_of_text|>", "<|eot_id|>"], {"add_bos_token": [True, False], "add_eos_token": [True, False], "split_special_tokens": [True, False]}),
}

def token(source, content, typed):
    """As tokenizer_config.json writes one: a text, or with flags."""
    if source.random() < 0.5:
        return content
    return {**({"__type": "AddedToken"} if typed else {}), "content": content, **{flag: source.random() < 0.3 for flag in ("lstrip", "rstrip", "single_word")}, "normalized": source.random() < 0.5}


def settings_of(source, own, class_name, fresh):
    """(tokenizer_config.json, special_tokens_map.json, added_tokens.json): the latter two may be None."""
    config = {key: source.choice(values) for key, values in own.items() if source.random() < 0.6}
    if source.random() < 0.3:
        config["split_special_tokens"] = source.random() < 0.5
    if source.random() < 0.5:
        config["eos_token"] = token(source, source.choice(["<|im_end|>", "</s>", "[END]"]), True)
    if source.random() < 0.3 and class_name not in ("MBartTokenizer", "MBart50Tokenizer"):
        config["pad_token"] = token(source, "<my_pad>", True)
    extra = source.random()
    if extra < 0.2:
        config["additional_special_tokens"] = ["<|im_start|>", "<|im_end|>"]
    elif extra < 0.4:
        config["extra_special_tokens"] = ["<|im_start|>", token(source, "New Token", True)]
    elif extra < 0.5:
        config["extra_special_tokens"] = {"image_token": "<image>", "boi_token": "<boi>"}
    elif extra < 0.6:
        config["image_token"] = "<image>"
    special = added = None
    way = source.random()
    if way < 0.3:
        ids = list(range(fresh, fresh + 3))
        config["added_tokens_decoder"] = {str(i): {**{flag: source.random() < 0.3 for flag in ("lstrip", "rstrip", "single_word", "normalized", "special")}, "content": t}
                                          for i, t in zip(ids, source.sample(["<|im_start|>", "<|im_end|>", "New Token", "STRASSE", "caf\u00e9", "ferry"], 3))}
    elif way < 0.6:
        special = {"eos_token": token(source, "</s>", False), "unk_token": "<unk>" if "<unk>" in class_name else None}
        special = {k: v for k, v in special.items() if v is not None}
        added = {t: fresh + i for i, t in enumerate(source.sample(["<|im_start|>", "<|im_end|>", "New Token", "ferry", "<pad>", "<mask>", "[MASK]", "<|padding|>"], 2))} if source.random() < 0.7 else None
    if source.random() < 0.3:
        config["model_max_length"] = 512
    return config, special, added


def write(folder, files):
    folder.mkdir(parents=True, exist_ok=True)
    for name, contents in files.items():
        if isinstance(contents, bytes):
            (folder / name).write_bytes(contents)
        else:
            (folder / name).write_text(contents if isinstance(contents, str) else json.dumps(contents, ensure_ascii=False))


def published_json(source, made, droppable):
    """A tokenizer.json, and what may differ in published ones: its last tokens, `droppable` many, may
    be added by no list."""
    whole = json.loads(made.to_str())
    change = source.random()
    if change < 0.15:
        whole["post_processor"] = None
    elif change < 0.3:
        whole["added_tokens"] = [t for t in whole["added_tokens"] if t["id"] < made.get_vocab_size() - droppable]
    elif change < 0.4:
        for t in whole["added_tokens"]:
            t["special"], t["normalized"] = source.random() < 0.5, source.random() < 0.5
    elif change < 0.5 and whole["normalizer"] and whole["normalizer"]["type"] != "Sequence":
        whole["normalizer"] = {"type": "Sequence", "normalizers": [whole["normalizer"]]}
    if source.random() < 0.3:
        whole["truncation"] = {"direction": "Right", "max_length": 8, "strategy": "LongestFirst", "stride": 0}
        pads = source.choice(["x", "<pad>", "</s>", "<|endoftext|>", "New Token"])
        whole["padding"] = {"strategy": {"Fixed": 12}, "direction": "Right", "pad_to_multiple_of": None, "pad_id": 0, "pad_type_id": 0, "pad_token": pads}
    return whole


def texts_of(source, count, special):
    special = [*special, "<|im_start|>", "<|im_end|>", "New Token", "<image>", "[END]", "<my_pad>", "ferry", "STRASSE", "caf\u00e9", "<unk>", "[UNK]", "\u2581", "new token", "[mask]", "[MASK]", "<pad>"]
    out = []
    for line in random_text.lines(source, count):
        line = json.loads(line)
        for key in line:
            parts = line[key].split(" ")
            for _ in range(source.randrange(0, 4) if source.random() < 0.6 else 0):
                parts.insert(source.randrange(0, len(parts) + 1), source.choice(special))
            line[key] = source.choice([" ", " ", ""]).join(parts) if source.random() < 0.3 else " ".join(parts)
        if not line.get("text_pair"):
            line.pop("text_pair", None)         # transformers takes an empty second text for none
        out.append(line)
    return out


def expect(folder, lines):
    from transformers import AutoTokenizer
    try:
        tokenizer = AutoTokenizer.from_pretrained(str(folder))
    except Exception as problem:
        return {"refused": f"{type(problem).__name__}: {str(problem)[:200]}"}
    ids, types = [], []
    for line in lines:
        one = tokenizer(line["text"], line.get("text_pair"), return_token_type_ids=True)
        ids.append(one["input_ids"])
        types.append(one["token_type_ids"])
    return {"class": type(tokenizer).__name__, "length": len(tokenizer), "ids": ids, "types": types, "mask": tokenizer.mask_token_id, "eos": tokenizer.eos_token_id,
            "special": sorted({i for i in tokenizer.all_special_ids if i is not None})}


def cases(wanted):
    for name, (_, _, forms, _, _) in CLASSES.items():
        for form in [*forms, "json"]:
            for variant in range(VARIANTS):
                whole = f"{name}/{form}/{variant}"
                if not wanted or any(whole == w or whole.startswith(w + "/") for w in wanted):
                    yield whole


def make(case, out, seed, v, count):
    from transformers import AutoTokenizer
    name, form, variant = case.split("/")
    class_name, model_types, forms, special, own = CLASSES[name]
    source = random.Random(f"{seed} {case}")
    folder = out / case.replace("/", "-")
    files = {}
    if form != "json" or forms:
        readable = [f for f in sorted(forms) if f"{name}/{f}" not in tokenizer_folders.REFUSED]
        files = forms[form if form != "json" else source.choice(readable)](v, special=special)
    else:                                                   # a class that is published as tokenizer.json alone
        files = merges(v, special=special)
    model_type = source.choice(model_types)
    if form != "json":
        config, special_map, added = settings_of(source, own, class_name, 5000)
        plain = variant == "0"
        if plain:
            config, special_map, added = {}, None, None
        named = source.choice([class_name, class_name + "Fast" if name != "backend" else class_name])
        if name == "backend":
            named = None if model_type in ("llama", "granite") else class_name
        if named and not (plain and name not in ("bart", "distilbert", "mbart50", "llama", "albert")):
            config["tokenizer_class"] = named
        if not config.get("tokenizer_class") and source.random() < 0.5 and plain:
            config = None
        files["config.json"] = {"model_type": model_type}
        for key, value in (("tokenizer_config.json", config), ("special_tokens_map.json", special_map), ("added_tokens.json", added)):
            if value is not None:
                files[key] = value
        write(folder, files)
    else:
        base = out / f".base-{case.replace('/', '-')}"
        built_of = {"tokenizer_class": class_name if name != "cohere" else "GPT2Tokenizer"}
        kinds = ["LlamaTokenizer", "PreTrainedTokenizerFast", *v.published] if name == "backend" else []
        kind = source.choice(kinds) if kinds else ""
        if kind in v.published:
            made = v.published[kind]
        else:
            write(base, {**files, "tokenizer_config.json": {"tokenizer_class": kind} if kind else built_of, "config.json": {"model_type": "llama"}})
            made = AutoTokenizer.from_pretrained(str(base)).backend_tokenizer
        config, special_map, added = settings_of(source, own, class_name, made.get_vocab_size())
        config["tokenizer_class"] = source.choice([class_name, class_name + "Fast" if name != "backend" else class_name])
        if kind in ("llama3", "deepseek") and source.random() < 0.5:        # under Llama 2's name
            config["tokenizer_class"] = "LlamaTokenizerFast"
        write(folder, {"tokenizer.json": published_json(source, made, 0 if kind in v.published else len(special)), "config.json": {"model_type": model_type}, "tokenizer_config.json": config,
                       **({"special_tokens_map.json": special_map} if special_map else {}), **({"added_tokens.json": added} if added else {})})
    lines = texts_of(source, count, special)
    (folder / "expected.json").write_text(json.dumps({"texts": lines, **expect(folder, lines)}))


def main(out, seed, count, *wanted):
    out = pathlib.Path(out).resolve()
    out.mkdir(parents=True, exist_ok=True)
    v = Vocabularies(out, random.Random(1))
    made = list(cases(wanted))
    for case in made:
        make(case, out, seed, v, int(count))
    print(json.dumps(made))


if __name__ == "__main__":
    main(*sys.argv[1:])
