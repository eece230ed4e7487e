"""Hugging Face's tokenizers as the reference: makes tokenizers of several kinds out of text, and encodes with them.

    reference_tokenizers.py make FOLDER TEXT_FILE [VOCAB_SIZE]     FOLDER/<kind>/tokenizer.json for every kind
    reference_tokenizers.py encode TOKENIZER_JSON                  lines {"text": ..., "text_pair": ...} in, {"input_ids", "token_type_ids", "decoded", "plain"} out
"""
import json
import pathlib
import sys

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

LLAMA3 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
GPT4O = "|".join([
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"\p{N}{1,3}", r" ?[^\s\p{L}\p{N}]+[\r\n/]*", r"\s*[\r\n]+", r"\s+(?!\S)", r"\s+"])


def learn(tokenizer, trainer, lines):
    tokenizer.train_from_iterator(lines, trainer)
    return tokenizer


def gpt2(lines, size):
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    t.decoder = decoders.ByteLevel()
    t.post_processor = processors.ByteLevel(trim_offsets=False)
    learn(t, trainers.BpeTrainer(vocab_size=size, special_tokens=["<|endoftext|>"], initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False), lines)
    return t


def llama3(lines, size, pattern=LLAMA3):
    t = Tokenizer(models.BPE(ignore_merges=True))
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(pattern), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    t.decoder = decoders.ByteLevel()
    learn(t, trainers.BpeTrainer(vocab_size=size, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False), lines)
    t.add_special_tokens(["<|begin_of_text|>", "<|end_of_text|>", "<|eot_id|>"])
    t.add_tokens([AddedToken("tool_call", single_word=True), AddedToken("<mask>", lstrip=True, rstrip=True)])
    begin = t.token_to_id("<|begin_of_text|>")
    t.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False), processors.TemplateProcessing(
        single="<|begin_of_text|> $A", pair="<|begin_of_text|> $A <|begin_of_text|>:1 $B:1", special_tokens=[("<|begin_of_text|>", begin)])])
    return t


def bert(lines, size, **normalizer):
    t = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    t.normalizer = normalizers.BertNormalizer(**normalizer)
    t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    learn(t, trainers.WordPieceTrainer(vocab_size=size, special_tokens=special, limit_alphabet=1000, show_progress=False), lines)
    t.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    t.decoder = decoders.WordPiece(prefix="##")
    return t


def roberta(lines, size):
    t = gpt2(lines, size)
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    t.add_special_tokens(["<s>", "</s>", AddedToken("<mask>", lstrip=True)])
    t.post_processor = processors.RobertaProcessing(sep=("</s>", t.token_to_id("</s>")), cls_token=("<s>", t.token_to_id("<s>")))
    return t


def llama2(lines, size):
    """Like SentencePiece: no pieces, unknown characters as bytes."""
    t = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    t.pre_tokenizer = pre_tokenizers.Metaspace()
    special = ["<unk>", "<s>", "</s>"] + [f"<0x{b:02X}>" for b in range(256)]
    learn(t, trainers.BpeTrainer(vocab_size=size, special_tokens=special, limit_alphabet=300, show_progress=False), lines)
    made = json.loads(t.to_str())
    made["pre_tokenizer"] = None
    made["normalizer"] = {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "▁"}, {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]}
    made["decoder"] = {"type": "Sequence", "decoders": [{"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"},
                                                        {"type": "Strip", "content": " ", "start": 1, "stop": 0}]}
    made["added_tokens"] = made["added_tokens"][:3]
    t = Tokenizer.from_str(json.dumps(made))
    t.post_processor = processors.TemplateProcessing(single="<s> $A", pair="<s> $A <s>:1 $B:1", special_tokens=[("<s>", 1)])
    return t


def unknowns(lines, size):
    """Characters that the vocabulary lacks, one by one, and ends of words."""
    t = Tokenizer(models.BPE(unk_token="<unk>", end_of_word_suffix="</w>"))
    t.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Lowercase(), normalizers.Strip()])
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Whitespace(), pre_tokenizers.Digits(individual_digits=True)])
    t.decoder = decoders.BPEDecoder()
    learn(t, trainers.BpeTrainer(vocab_size=size, special_tokens=["<unk>"], end_of_word_suffix="</w>", limit_alphabet=60, show_progress=False), lines)
    t.add_tokens([AddedToken("STRASSE", normalized=True), AddedToken("été", normalized=True)])
    return t


def metaspace(lines, size):
    t = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True))
    t.normalizer = normalizers.Sequence([normalizers.NFKD(), normalizers.StripAccents(), normalizers.Replace(Regex(r"\s{2,}"), " ")])
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Metaspace(prepend_scheme="first"), pre_tokenizers.Digits(), pre_tokenizers.Punctuation("merged_with_previous")])
    t.decoder = decoders.Metaspace(prepend_scheme="first")
    learn(t, trainers.BpeTrainer(vocab_size=size, special_tokens=["<unk>", "<sep>"], limit_alphabet=200, show_progress=False), lines)
    return t


def kinds(lines, size):
    made = {
        "gpt2": gpt2(lines, size), "llama3": llama3(lines, size), "gpt4o": llama3(lines, size, GPT4O), "bert": bert(lines, size),
        "bert_cased": bert(lines, size, lowercase=False, clean_text=False), "roberta": roberta(lines, size), "llama2": llama2(lines, size),
        "unknowns": unknowns(lines, size), "metaspace": metaspace(lines, size)}
    for form in ("NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents"):
        t = Tokenizer.from_str(made["gpt2"].to_str())
        t.normalizer = getattr(normalizers, form)()
        made[form.lower()] = t
    for behavior in ("removed", "merged_with_previous", "merged_with_next", "contiguous"):
        t = Tokenizer.from_str(made["gpt2"].to_str())
        t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(r"\w|\d+"), behavior, invert=behavior == "contiguous"), pre_tokenizers.WhitespaceSplit(),
                                                   pre_tokenizers.ByteLevel(add_prefix_space=True)])
        made[f"split_{behavior}"] = t
    return made


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
    inputs = [(line["text"], line["text_pair"]) if line.get("text_pair") is not None else line["text"] for line in lines]
    special, plain = t.encode_batch(inputs), t.encode_batch(inputs, add_special_tokens=False)
    out = []
    for s, p in zip(special, plain):
        out.append(json.dumps({"input_ids": s.ids, "token_type_ids": s.type_ids, "plain": p.ids, "decoded": t.decode(s.ids, skip_special_tokens=False),
                               "decoded_plain": t.decode(s.ids, skip_special_tokens=True)}))
    sys.stdout.write("\n".join(out) + "\n")


if __name__ == "__main__":
    {"make": make, "encode": encode}[sys.argv[1]](*sys.argv[2:])
