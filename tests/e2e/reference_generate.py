"""What transformers generates, and how Hugging Face's tokenizers read and write it; never from
trainx.

    reference_generate.py make FOLDER VOCAB_SIZE POSITIONS     a small random GPT-2 as a Hugging
    Face folder, without a token that ends a text
    reference_generate.py generate FOLDER                      JSON on stdin: [{"ids": [...], "new":
    n, "end": id or null}, ...]; out: [{"ids": [...], "gaps": [...]}, ...]
    reference_generate.py beams FOLDER                         JSON on stdin: [{"ids", "new",
    "ends": [id, ...], "beams": n, "penalty": x}, ...]; out: [[ids], ...]
    reference_generate.py windows FOLDER                       JSON on stdin: [{"ids", "new",
    "beams"}, ...]; out: [[ids], ...], beyond the positions too
    reference_generate.py encode TOKENIZER_JSON                JSON on stdin: ["text", ...]; out:
    [[ids], ...]
    reference_generate.py decode TOKENIZER_JSON                JSON on stdin: [[ids], ...]; out:
    ["text", ...]

gaps: how far each chosen token's logit lies above the next one's: where that is tiny, rounding
decides.
"""
import json
import sys


def make(folder, vocab_size, positions):
    import torch
    import transformers
    torch.set_num_threads(2)
    torch.manual_seed(29)
    config = transformers.GPT2Config(vocab_size=vocab_size, n_positions=positions, n_embd=48,
                                     n_layer=3, n_head=4, resid_pdrop=0.0, embd_pdrop=0.0,
                                     attn_pdrop=0.0, initializer_range=0.25, bos_token_id=None,
                                     eos_token_id=None)
    transformers.GPT2LMHeadModel(config).save_pretrained(folder)


def generate(torch, model, ids, new, end):
    positions = model.config.n_positions
    ids = list(ids)
    begin, gaps = len(ids), []
    room = min(new,
               positions + 1 - begin)  # what transformers does by itself: up to the last position
    if room > 0:
        out = model.generate(torch.tensor([ids]), attention_mask=torch.ones(
            1, len(ids), dtype=torch.long), do_sample=False, use_cache=True, max_new_tokens=room,
                             eos_token_id=end, pad_token_id=0, output_logits=True,
                             return_dict_in_generate=True)
        ids = out.sequences[0].tolist()
        for logits in out.logits:
            first, second = logits[0].topk(2).values.tolist()
            gaps.append(first - second)
    while len(ids) - begin < new and (end is None or len(ids) == begin or ids[-1] != end):
        logits = model(torch.tensor(
            [ids[-positions:]])).logits[0, -1]  # a window of the last positions
        first, second = logits.topk(2).values.tolist()
        ids.append(int(logits.argmax()))
        gaps.append(first - second)
    return {"ids": ids, "gaps": gaps}


def search(torch, model, q):
    ids = torch.tensor([q["ids"]])
    return model.generate(ids, attention_mask=torch.ones_like(ids), do_sample=False,
                          num_beams=q["beams"], length_penalty=q["penalty"],
                          max_new_tokens=q["new"], eos_token_id=q["ends"] or None,
                          pad_token_id=0)[0].tolist()


def windows(torch, model, q):
    """The likeliest text of `beams` that are followed, each seen through a window of the last
    positions; none ends early."""
    beams = [(0.0, q["ids"])]
    for _ in range(q["new"]):
        longer = []
        for score, ids in beams:
            logits = model(torch.tensor([ids[-model.config.n_positions:]])).logits[0, -1]
            longer += [(score + p, [*ids, token])
                       for token, p in enumerate(logits.double().log_softmax(-1).tolist())]
        beams = sorted(longer, key=lambda b: -b[0])[:q["beams"]]
    return beams[0][1]


def main():
    command, path = sys.argv[1:3]
    if command == "make":
        return make(path, int(sys.argv[3]), int(sys.argv[4]))
    asked = json.load(sys.stdin)
    if command in ("generate", "beams", "windows"):      # tokenizers alone start in no time
        import torch
        import transformers
        torch.set_num_threads(2)
        model = transformers.AutoModelForCausalLM.from_pretrained(path).eval().float()
        with torch.no_grad():
            ask = {
                "beams": search, "windows": windows, "generate": lambda torch, model, q: generate(
                    torch, model, q["ids"], q["new"], q.get("end"))
            }[command]
            answer = [ask(torch, model, q) for q in asked]
    else:
        import tokenizers
        tokenizer = tokenizers.Tokenizer.from_file(path)
        answer = [tokenizer.encode(text).ids for text in asked] if command == "encode" else [
            tokenizer.decode(ids, skip_special_tokens=True) for ids in asked
        ]
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
