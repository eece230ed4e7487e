#!/usr/bin/env python3
"""How many architectures of transformers export and train: each is made tiny from its config class,
exported, and trained for 5 AdamW steps by trainx and by transformers + torch.optim.

    exported_models.py RESULTS [KIND/MODEL ...]    all, or these; RESULTS (JSON lines) keeps what
                                                   was found, and a later run goes on from there
    exported_models.py --table RESULTS

Runs with the reference Python (torch, transformers), which TRAINX_REFERENCE_PYTHON names, and with
TRAINX_BUILD_DIR. KIND: c causal_lm, m masked_lm, s seq2seq. It takes an hour of one core and is no
test of the suite: tests/e2e/exported_test.py has a few of the models.
"""
import array
import contextlib
import importlib.machinery
import importlib.util
import json
import logging
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import warnings

ROOT = pathlib.Path(__file__).resolve().parents[2]
STEPS, BATCH, LENGTH, VOCABULARY, TOLERANCE, SECONDS = 5, 4, 48, 256, 1e-5, 420
MODELS = {
    "c": """afmoe apertus arcee aria_text axk1 axk2 bamba bart bert bert-generation big_bird
        bigbird_pegasus biogpt bitnet blenderbot blenderbot-small bloom blt camembert codegen cohere
        cohere2 dbrx deepseek_v2 deepseek_v3 exaone4 falcon falcon_mamba gemma gemma2 gemma3_text
        gemma4_text glm glm4 gpt2 gpt_bigcode gpt_neox gpt_oss gptj granite granitemoe helium jamba
        llama llama4_text mamba mamba2 ministral ministral3 mistral mixtral mpt nanochat nemotron
        olmo olmo2 olmo3 olmoe opt persimmon phi phi3 phimoe qwen2 qwen2_moe qwen3 qwen3_5_text
        qwen3_moe qwen3_next recurrent_gemma rwkv smollm3 stablelm starcoder2 xglm""",
    "m": """albert bert camembert deberta deberta-v2 distilbert electra eurobert longformer
        modernbert mpnet nomic_bert roberta xlm xlm-roberta""",
    "s": """bart blenderbot led m2m_100 marian mbart mt5 pegasus prophetnet switch_transformers t5
        t5gemma umt5"""}
TASKS = {"c": "causal_lm", "m": "masked_lm", "s": "seq2seq"}
SIZES = {
    64: "hidden_size n_embd d_model dim embed_dim embedding_size word_embed_proj_dim emb_dim",
    96: "intermediate_size ffn_dim d_ff n_inner dim_feedforward encoder_ffn_dim decoder_ffn_dim "
        "hidden_dim ffn_hidden_size moe_intermediate_size shared_expert_intermediate_size",
    2: "num_hidden_layers n_layer n_layers num_layers encoder_layers decoder_layers "
       "num_decoder_layers num_experts_per_tok num_key_value_heads",
    4: "num_attention_heads n_head n_heads num_heads encoder_attention_heads "
       "decoder_attention_heads num_experts num_local_experts n_routed_experts",
    16: "head_dim d_kv v_head_dim qk_nope_head_dim kv_lora_rank q_lora_rank sliding_window",
    8: "qk_rope_head_dim rotary_dim",
    128: "max_position_embeddings n_positions n_ctx",
    0: "pad_token_id",
    "0.0": "hidden_dropout_prob attention_probs_dropout_prob resid_pdrop embd_pdrop attn_pdrop "
       "attention_dropout dropout dropout_rate activation_dropout hidden_dropout embedding_dropout "
       "mlp_dropout ffn_dropout layerdrop encoder_layerdrop decoder_layerdrop classifier_dropout "
       "resid_dropout embed_dropout dropout_prob",
    1: "bos_token_id decoder_start_token_id n_shared_experts n_group topk_group "
       "first_k_dense_replace",
    VOCABULARY: "vocab_size"}
# The same where a config holds others.
INNER = {"hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2,
         "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16, "sliding_window": 16,
         "vocab_size": VOCABULARY, "max_position_embeddings": 128}
OF_BLT = {"hidden_size": 64, "hidden_size_global": 64, "intermediate_size": 96,
          "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 4,
          "head_dim": 16}
# What a model needs otherwise to be legal and tiny.
CHANGES = {
    "deepseek_v2": {"num_key_value_heads": 4, "head_dim": 8},
    "deepseek_v3": {"num_key_value_heads": 4, "head_dim": 8},
    "axk1": {"num_key_value_heads": 4, "head_dim": 8},
    "axk2": {"num_key_value_heads": 4, "head_dim": 8},
    "mamba2": {"num_heads": 8, "head_dim": 16, "expand": 2, "n_groups": 1, "state_size": 16,
               "chunk_size": 16},
    "mamba": {"state_size": 4}, "falcon_mamba": {"state_size": 4},
    "jamba": {"mamba_d_state": 4, "mamba_dt_rank": 4},
    "bamba": {"mamba_n_heads": 8, "mamba_d_head": 16, "mamba_n_groups": 1, "mamba_d_state": 16,
              "mamba_chunk_size": 16},
    "recurrent_gemma": {"lru_width": 64, "num_hidden_layers": 3},
    "gemma4_text": {"vocab_size_per_layer_input": VOCABULARY, "hidden_size_per_layer_input": 16,
                    "global_head_dim": 16},
    "xlm": {"n_words": VOCABULARY, "gelu_activation": True, "emb_dim": 64, "n_layers": 2},
    "dbrx": {"attn_config": {"kv_n_heads": 2, "clip_qkv": 8, "rope_theta": 10000.0},
             "ffn_config": {"ffn_hidden_size": 64, "moe_num_experts": 4, "moe_top_k": 2,
                            "ffn_act_fn": {"name": "silu"}}},
    "t5gemma": {"encoder": INNER, "decoder": INNER},
    "blt": {"encoder_hash_byte_group_vocab": 512} |
           {f"{part}_config": OF_BLT for part in ("patcher", "encoder", "decoder", "global")},
    "led": {"attention_window": 16}, "longformer": {"attention_window": 16},
    "rwkv": {"context_length": 64, "attention_hidden_size": 64}}


def config_of(kind, name):
    of = transformers.models.auto.modeling_auto
    classes = {"c": of.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES, "m": of.MODEL_FOR_MASKED_LM_MAPPING_NAMES,
               "s": of.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES}[kind][name]
    model = getattr(transformers, classes if isinstance(classes, str) else classes[0])
    make = model.config_class
    known = make().to_dict()
    small = {key: float(value) if value == "0.0" else value for value, keys in SIZES.items()
             for key in keys.split() if key in known}
    small |= CHANGES.get(name, {})
    if kind == "c" and "is_decoder" in known:
        small["is_decoder"] = True
    if kind == "s":     # of some families config.json alone has it
        small["decoder_start_token_id"] = 1
    tries = (small, {k: v for k, v in small.items() if k not in ("head_dim", "sliding_window")})
    for values in tries:
        try:
            return model, make(**values, eos_token_id=2)
        except Exception as e:  # of any kind: a config that refuses its sizes
            problem = e
    raise problem


def tool():
    path = str(ROOT / "scripts" / "trainx-export")
    loader = importlib.machinery.SourceFileLoader("trainx_export", path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("trainx_export",
                                                                             loader))
    sys.dont_write_bytecode = True
    loader.exec_module(module)
    return module


def make_folder(kind, name, folder):
    torch.manual_seed(3)
    cls, config = config_of(kind, name)
    model = cls._from_config(config, attn_implementation="eager")
    if sum(p.numel() for p in model.parameters()) > 60e6:
        raise ValueError("larger than 60 M parameters: its config class has more sizes")
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() >= 2:
                parameter.normal_(0, 0.05)
    model.save_pretrained(folder)


def wanted_losses(export, folder, task, rows):
    model = export.load_model(folder, task, torch.float32)
    wrapper = export.Logits(model, task)
    groups = [{"params": [p for p in model.parameters() if p.dim() >= 2], "weight_decay": 0.1},
              {"params": [p for p in model.parameters() if p.dim() < 2], "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=1e-3, betas=(0.9, 0.95), eps=1e-6)
    losses = []
    for batch in rows.split(BATCH):
        given = [batch[:, :-1], torch.full((BATCH,), LENGTH)][:1 if task == "causal_lm" else 2]
        if task == "seq2seq":
            given.append(export.decoder_tokens(model, batch[:, 1:]))
        with export.without_layer_drop(model):
            logits = wrapper(*given)
        loss = torch.nn.functional.cross_entropy(logits.float().flatten(0, 1),
                                                 batch[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    return losses


def trainx():
    return pathlib.Path(os.environ.get("TRAINX_BUILD_DIR", ROOT / "build")) / "bin/trainx"


def trained_losses(folder, out, task, rows):
    data = {"sequence_length": LENGTH, "shuffle": False}
    if task == "causal_lm":     # llm.c's format
        ids = [*rows[:, :-1].flatten().tolist(), int(rows[-1, -1])]
        header = array.array("i", [20240520, 1, len(ids)] + [0] * 253)
        (folder / "rows.bin").write_bytes(header.tobytes() + array.array("H", ids).tobytes())
        data |= {"type": "tokens", "train": "rows.bin"}
    else:
        (folder / "rows.jsonl").write_text("".join(
            json.dumps({"input_ids": row[:-1], "labels": row[1:]}) + "\n"
            for row in rows.tolist()))
        data |= {"type": "jsonl", "train": "rows.jsonl"}
    recipe = {
        "run": {"name": "r", "duration": f"{STEPS} steps", "device": "cpu"},
        "model": {"type": "exported", "init_from": str(out),
                  "options": {"task": task}},
        "data": data,
        "batch": {"global_batch_size": BATCH, "micro_batch_size": BATCH},
        "precision": "fp32", "schedule": {"type": "constant"}, "metrics": {"every": "1 steps"},
        "optimizer": {"type": "adamw", "lr": 1e-3,
                      "options": {"beta2": 0.95, "eps": 1e-6, "weight_decay": 0.1}}}
    (folder / "r.yaml").write_text(json.dumps(recipe))
    done = subprocess.run([trainx(), "train", "r.yaml", "--overwrite"], cwd=folder,
                          capture_output=True, text=True)
    if done.returncode != 0:
        said = done.stderr.strip().split("\n")
        raise RuntimeError(f"trainx ended with {done.returncode}: {said[-1] if said else ''}")
    lines = (folder / "outputs/r/metrics.jsonl").read_text().splitlines()
    return [m["loss"] for m in map(json.loads, lines) if "loss" in m]


def one(kind, name):
    export, task = tool(), TASKS[kind]
    torch.set_num_threads(1)
    with contextlib.ExitStack() as stack:
        # EXPORTED_FOLDERS keeps what was exported, for a later run
        kept = os.environ.get("EXPORTED_FOLDERS")
        place = pathlib.Path(kept) / f"{kind}-{name}" if kept else \
            pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder, out = place / "model", place / "out"
        if not out.exists():
            shutil.rmtree(place, ignore_errors=True)
            try:
                make_folder(kind, name, folder)
            except Exception as e:  # of any kind: a config that refuses its sizes
                return {"state": "config", "why": f"{type(e).__name__}: {str(e)[:200]}"}
            try:
                export.export(folder, out, task, LENGTH, low=())
            except export.Refusal as e:
                return {"state": "export", "why": str(e)[:300]}
        ids = torch.randint(3, VOCABULARY, (STEPS * BATCH * LENGTH + 1,),
                            generator=torch.Generator().manual_seed(5))
        rows = ids.unfold(0, LENGTH + 1, LENGTH)    # with the first token of the next one
        graph = json.loads((out / "graph.json").read_text())["graphs"]["f32"]["modules"]
        found = {"modules": len(graph), "operators": sum(len(m["nodes"]) for m in graph)}
        if not trainx().exists():
            return found | {"state": "export", "why": "exported; there is no trainx to train it"}
        want = wanted_losses(export, folder, task, rows)
        try:
            got = trained_losses(folder, out, task, rows)
        except RuntimeError as e:
            return found | {"state": "train", "why": str(e)[:300]}
    worst = max(abs(g - w) / w for g, w in zip(got, want)) if len(got) == STEPS else 1.0
    right = worst <= TOLERANCE
    return found | {"state": "right" if right else "differs", "difference": worst,
                    "why": "" if right else f"losses {got} instead of {want}"}


def in_a_child(case):
    """What one model may do to a process, such as a crash or no end, is its own."""
    with tempfile.NamedTemporaryFile("r") as answer:
        child = os.fork()
        if child == 0:
            signal.alarm(SECONDS)
            with open(os.devnull, "w") as nowhere:
                os.dup2(nowhere.fileno(), 1)
                os.dup2(nowhere.fileno(), 2)
            try:
                found = one(*case.split("/", 1))
            except Exception as e:  # of any kind: the next model is asked
                found = {"state": "crash", "why": f"{type(e).__name__}: {str(e)[:300]}"}
            pathlib.Path(answer.name).write_text(json.dumps(found))
            os._exit(0)
        status = os.waitpid(child, 0)[1]
        text = answer.read()
    if text:
        return json.loads(text)
    late = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGALRM
    return {"state": "time" if late else "crash",
            "why": f"not done in {SECONDS} s" if late else f"ended with status {status}"}


def survey(results, asked):
    cases = asked or [f"{kind}/{name}" for kind, names in MODELS.items() for name in names.split()]
    known = set()
    if results.exists():
        known = {json.loads(line)["model"] for line in results.read_text().splitlines()}
    for case in cases:
        if case in known and not asked:
            continue
        found = in_a_child(case)
        with open(results, "a") as file:
            file.write(json.dumps({"model": case} | found) + "\n")
        print(case, found["state"], found.get("why", ""), flush=True)


def table(results):
    last = {}
    for line in results.read_text().splitlines():
        found = json.loads(line)
        last[found["model"]] = found
    right = [f for f in last.values() if f["state"] == "right"]
    print(f"{len(right)} of {len(last)} models export and train {STEPS} AdamW steps with losses "
          f"within {TOLERANCE:g} of transformers'\n")
    print("| model | modules | operators | largest relative difference of losses |")
    print("|---|--:|--:|--:|")
    for f in right:
        print(f"| {f['model']} | {f['modules']} | {f['operators']} | {f['difference']:.1e} |")
    print("\n| not so | at | why |\n|---|---|---|")
    for f in last.values():
        if f["state"] != "right":
            print(f"| {f['model']} | {f['state']} | {f['why']} |")


if __name__ == "__main__":
    if sys.argv[1] == "--table":
        table(pathlib.Path(sys.argv[2]))
    else:
        import torch
        import transformers
        warnings.filterwarnings("ignore")
        logging.disable(logging.WARNING)
        transformers.logging.set_verbosity_error()
        survey(pathlib.Path(sys.argv[1]), sys.argv[2:])
