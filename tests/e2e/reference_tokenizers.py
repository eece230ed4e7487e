"""Hugging Face's tokenizers as the reference: makes tokenizers of several kinds out of text, and
encodes with them.

    reference_tokenizers.py make FOLDER TEXT_FILE [VOCAB_SIZE]     FOLDER/<kind>/tokenizer.json for
    every kind
    reference_tokenizers.py encode TOKENIZER_JSON                  lines {"text": ..., "text_pair":
    ...} in, {"input_ids", "token_type_ids", "decoded", "plain"} out
"""
import base64
import json
import pathlib
import struct
import sys
import unicodedata

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

LLAMA3 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
GPT4O = "|".join([
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"\p{N}{1,3}", r" ?[^\s\p{L}\p{N}]+[\r\n/]*", r"\s*[\r\n]+", r"\s+(?!\S)", r"\s+"
])


def learn(tokenizer, trainer, lines):
    tokenizer.train_from_iterator(lines, trainer)
    return tokenizer


def gpt2(lines, size):
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    t.decoder = decoders.ByteLevel()
    t.post_processor = processors.ByteLevel(trim_offsets=False)
    learn(
        t,
        trainers.BpeTrainer(vocab_size=size, special_tokens=["<|endoftext|>"],
                            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
                            show_progress=False), lines)
    return t


def llama3(lines, size, pattern=LLAMA3):
    t = Tokenizer(models.BPE(ignore_merges=True))
    t.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(pattern), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    ])
    t.decoder = decoders.ByteLevel()
    learn(
        t,
        trainers.BpeTrainer(vocab_size=size, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
                            show_progress=False), lines)
    t.add_special_tokens(["<|begin_of_text|>", "<|end_of_text|>", "<|eot_id|>"])
    t.add_tokens(
        [AddedToken("tool_call", single_word=True),
         AddedToken("<mask>", lstrip=True, rstrip=True)])
    begin = t.token_to_id("<|begin_of_text|>")
    t.post_processor = processors.Sequence([
        processors.ByteLevel(trim_offsets=False),
        processors.TemplateProcessing(single="<|begin_of_text|> $A",
                                      pair="<|begin_of_text|> $A <|begin_of_text|>:1 $B:1",
                                      special_tokens=[("<|begin_of_text|>", begin)])
    ])
    return t


def bert(lines, size, **normalizer):
    t = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    t.normalizer = normalizers.BertNormalizer(**normalizer)
    t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    learn(
        t,
        trainers.WordPieceTrainer(vocab_size=size, special_tokens=special, limit_alphabet=1000,
                                  show_progress=False), lines)
    t.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2),
                                                                                     ("[SEP]", 3)])
    t.decoder = decoders.WordPiece(prefix="##")
    return t


def roberta(lines, size):
    t = gpt2(lines, size)
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    t.add_special_tokens(["<s>", "</s>", AddedToken("<mask>", lstrip=True)])
    t.post_processor = processors.RobertaProcessing(sep=("</s>", t.token_to_id("</s>")),
                                                    cls_token=("<s>", t.token_to_id("<s>")))
    return t


def llama2(lines, size):
    """Like SentencePiece: no pieces, unknown characters as bytes."""
    t = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    t.pre_tokenizer = pre_tokenizers.Metaspace()
    special = ["<unk>", "<s>", "</s>"] + [f"<0x{b:02X}>" for b in range(256)]
    learn(
        t,
        trainers.BpeTrainer(vocab_size=size, special_tokens=special, limit_alphabet=300,
                            show_progress=False), lines)
    made = json.loads(t.to_str())
    made["pre_tokenizer"] = None
    made["normalizer"] = {
        "type": "Sequence",
        "normalizers": [{"type": "Prepend", "prepend": "▁"},
                        {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]
    }
    made["decoder"] = {
        "type": "Sequence",
        "decoders": [{"type": "Replace", "pattern": {"String": "▁"},
                      "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"},
                     {"type": "Strip", "content": " ", "start": 1, "stop": 0}]
    }
    made["added_tokens"] = made["added_tokens"][:3]
    t = Tokenizer.from_str(json.dumps(made))
    t.post_processor = processors.TemplateProcessing(single="<s> $A", pair="<s> $A <s>:1 $B:1",
                                                     special_tokens=[("<s>", 1)])
    return t


def unknowns(lines, size):
    """Characters that the vocabulary lacks, one by one, and ends of words."""
    t = Tokenizer(models.BPE(unk_token="<unk>", end_of_word_suffix="</w>"))
    t.normalizer = normalizers.Sequence(
        [normalizers.NFKC(), normalizers.Lowercase(),
         normalizers.Strip()])
    t.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Whitespace(),
         pre_tokenizers.Digits(individual_digits=True)])
    t.decoder = decoders.BPEDecoder()
    learn(
        t,
        trainers.BpeTrainer(vocab_size=size, special_tokens=["<unk>"], end_of_word_suffix="</w>",
                            limit_alphabet=60, show_progress=False), lines)
    t.add_tokens([AddedToken("STRASSE", normalized=True), AddedToken("été", normalized=True)])
    return t


def metaspace(lines, size):
    t = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True))
    t.normalizer = normalizers.Sequence([
        normalizers.NFKD(),
        normalizers.StripAccents(),
        normalizers.Replace(Regex(r"\s{2,}"), " ")
    ])
    t.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Metaspace(prepend_scheme="first"),
        pre_tokenizers.Digits(),
        pre_tokenizers.Punctuation("merged_with_previous")
    ])
    t.decoder = decoders.Metaspace(prepend_scheme="first")
    learn(
        t,
        trainers.BpeTrainer(vocab_size=size, special_tokens=["<unk>", "<sep>"], limit_alphabet=200,
                            show_progress=False), lines)
    return t


def double_array(keys):
    """{bytes: value} as a double-array trie: units of offset to the children, a value's flag, and
    the label."""
    tree = {}
    for key, value in keys.items():
        node = tree
        for byte in key:
            node = node.setdefault(byte, {})
        node[0] = value
    units, waiting, first_free = {0: 0}, [(tree, 0)], 1
    while waiting:
        node, at = waiting.pop()
        while first_free in units:
            first_free += 1
        base = first_free
        # Offsets of 2^21 and more are multiples of 256.
        while any((base ^ label) in units for label in node):
            base += 1
        offset = at ^ base
        assert offset < 1 << 21
        units[at] |= offset << 10 | (1 << 8 if 0 in node else 0)
        for label, child in node.items():
            units[base ^ label] = 1 << 31 | child if label == 0 else label
            if label:
                waiting.append((child, base ^ label))
    count = (max(units) + 256) // 256 * 256
    return b"".join(struct.pack("<I", units.get(i, 0)) for i in range(count))


def charsmap(replacements):
    """As SentencePiece precompiles it: {text: what it becomes}."""
    blob, keys = b"", {}
    for text, becomes in replacements.items():
        keys[text.encode()] = len(blob)
        blob += becomes.encode() + b"\0"
    trie = double_array(keys)
    return base64.b64encode(struct.pack("<I", len(trie)) + trie + blob).decode()


def nfkc(casefold=False):
    """Like SentencePiece's nmt_nfkc: compatibility forms, compositions of a letter and its marks,
    white space to blanks, no control characters."""
    out = {}
    for c in (c for c in range(1, 0x30000) if not 0xD800 <= c < 0xE000):
        text = chr(c)
        becomes = unicodedata.normalize("NFKC", text)
        if unicodedata.category(text) in ("Zs", "Zl", "Zp") or text in "\t\n\r\x0b\x0c":
            becomes = " "
        elif unicodedata.category(text) == "Cc" or text in "\u200b\ufeff\u200e":
            becomes = ""
        if casefold:
            becomes = becomes.casefold()
        if becomes != text:
            out[text] = becomes
        apart = unicodedata.normalize("NFD", text)
        if len(apart) > 1 and unicodedata.normalize("NFC", apart) == text:
            out[apart] = becomes
    return charsmap(out)


def unigram(lines, size, special, pre_tokenizer, normalizer, byte_fallback=False):
    """SentencePiece's, as converters write them: pieces with a score each, and the table of the
    normalizer."""
    t = Tokenizer(models.Unigram())
    t.pre_tokenizer = pre_tokenizers.Metaspace()
    learn(
        t,
        trainers.UnigramTrainer(vocab_size=size, special_tokens=special, unk_token="<unk>",
                                show_progress=False), lines)
    made = json.loads(t.to_str())
    made["model"]["unk_id"] = special.index("<unk>")
    if byte_fallback:
        made["model"]["vocab"] += [[f"<0x{b:02X}>", -20.0] for b in range(256)]
        made["model"]["byte_fallback"] = True
    made["normalizer"], made["pre_tokenizer"] = normalizer, pre_tokenizer
    made["decoder"] = {
        "type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": True
    }
    return Tokenizer.from_str(json.dumps(made))


def unigrams(lines, size):
    metaspace = {
        "type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": True
    }
    table = {"type": "Precompiled", "precompiled_charsmap": nfkc()}
    blanks = {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": "\u2581"}
    words = {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, metaspace]}

    def around(t, single, pair):
        t.post_processor = processors.TemplateProcessing(
            single=single, pair=pair,
            special_tokens=[(x, t.token_to_id(x))
                            for x in set(f"{single} {pair}".replace(":1", "").split())
                            if "$" not in x])
        return t

    t5 = around(
        unigram(
            lines, size, ["<pad>", "</s>", "<unk>"], metaspace, {
                "type": "Sequence", "normalizers": [
                    table, {"type": "Strip", "strip_left": False, "strip_right": True}, blanks
                ]
            }), "$A </s>", "$A </s> $B </s>")
    t5.add_special_tokens([f"<extra_id_{i}>" for i in range(3)])
    t5_old = around(unigram(lines, size, ["<pad>", "</s>", "<unk>"], words, table), "$A </s>",
                    "$A </s> $B </s>")
    xlmr = around(
        unigram(lines, size, ["<s>", "<pad>", "</s>", "<unk>"],
                {**metaspace, "prepend_scheme": "first"},
                {"type": "Sequence", "normalizers": [table, blanks]}), "<s> $A </s>",
        "<s> $A </s> </s> $B </s>")
    xlmr.add_special_tokens([AddedToken("<mask>", lstrip=True)])
    albert = around(
        unigram(
            lines, size, ["<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"], words, {
                "type": "Sequence",
                "normalizers": [{"type": "Replace", "pattern": {"String": "``"}, "content": '"'}, {
                    "type": "Replace", "pattern": {"String": "''"}, "content": '"'
                }, {"type": "NFKD"}, {"type": "StripAccents"}, {"type": "Lowercase"},
                                {"type": "Precompiled", "precompiled_charsmap": nfkc(True)}]
            }), "[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1")
    fallback = unigram(
        lines, size, ["<unk>"], None, {
            "type": "Sequence", "normalizers": [{"type": "NFKC"}, {
                "type": "Replace", "pattern": {"String": " "}, "content": "\u2581"
            }]
        }, True)
    fallback.decoder = decoders.Sequence(
        [decoders.Replace("\u2581", " "),
         decoders.ByteFallback(),
         decoders.Fuse()])
    # Tokens that come twice, scores above 0, and a letter without marks that is a key.
    made = json.loads(t5.to_str())
    made["model"]["vocab"] += [["the", 1.0], ["e", 2.0], ["the", 3.0], ["<unk>", -1.0]]
    made["normalizer"] = {
        "type": "Precompiled", "precompiled_charsmap": charsmap({
            "A": "xyz", "\u0915": "k", "\u00a9": "", "\u0600": "n", "\r": "", "\u1100": "j",
            "e": "\u00e9\u00e9"
        })
    }
    made["pre_tokenizer"] = {**metaspace, "prepend_scheme": "first"}
    made["added_tokens"], made["post_processor"] = made["added_tokens"][:2], None
    return {
        "t5": t5, "t5_old": t5_old, "xlmr": xlmr, "albert": albert, "unigram_bytes": fallback,
        "unigram_twice": Tokenizer.from_str(json.dumps(made))
    }


def kinds(lines, size):
    made = {
        "gpt2": gpt2(lines, size), "llama3": llama3(lines, size), "gpt4o": llama3(
            lines, size, GPT4O), "bert": bert(lines, size), "bert_cased": bert(
                lines, size, lowercase=False,
                clean_text=False), "roberta": roberta(lines, size), "llama2": llama2(lines, size),
        "unknowns": unknowns(lines, size), "metaspace": metaspace(lines, size)
    }
    for form in ("NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents"):
        t = Tokenizer.from_str(made["gpt2"].to_str())
        t.normalizer = getattr(normalizers, form)()
        made[form.lower()] = t
    for behavior in ("removed", "merged_with_previous", "merged_with_next", "contiguous"):
        t = Tokenizer.from_str(made["gpt2"].to_str())
        t.pre_tokenizer = pre_tokenizers.Sequence([
            pre_tokenizers.Split(Regex(r"\w|\d+"), behavior, invert=behavior == "contiguous"),
            pre_tokenizers.WhitespaceSplit(),
            pre_tokenizers.ByteLevel(add_prefix_space=True)
        ])
        made[f"split_{behavior}"] = t
    return made | unigrams(lines, size)


def make(folder, text, size="2000"):
    lines = pathlib.Path(text).read_text().splitlines(keepends=True)
    for kind, tokenizer in kinds(lines, int(size)).items():
        path = pathlib.Path(folder) / kind
        path.mkdir(parents=True, exist_ok=True)
        tokenizer.save(str(path / "tokenizer.json"))
        if kind == "gpt2":
            (path / "files").mkdir(exist_ok=True)
            tokenizer.model.save(str(path / "files"))
        if kind == "bert":
            (path / "files").mkdir(exist_ok=True)
            tokenizer.model.save(str(path / "files"))


def encode(path):
    t = Tokenizer.from_file(path)
    lines = [json.loads(line) for line in sys.stdin]
    inputs = [(line["text"],
               line["text_pair"]) if line.get("text_pair") is not None else line["text"]
              for line in lines]
    special, plain = t.encode_batch(inputs), t.encode_batch(inputs, add_special_tokens=False)
    out = []
    for s, p in zip(special, plain):
        out.append(
            json.dumps({
                "input_ids": s.ids, "token_type_ids": s.type_ids, "plain": p.ids,
                "decoded": t.decode(s.ids, skip_special_tokens=False), "decoded_plain": t.decode(
                    s.ids, skip_special_tokens=True)
            }))
    sys.stdout.write("\n".join(out) + "\n")


if __name__ == "__main__":
    {"make": make, "encode": encode}[sys.argv[1]](*sys.argv[2:])
