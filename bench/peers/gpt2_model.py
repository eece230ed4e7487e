"""GPT-2 (Radford et al. 2019) as a plain torch module, as people write it for speed: one packed QKV product, fused attention, tied embeddings."""
import torch
import torch.nn.functional as F
from torch import nn

SIZES = {"124m": (12, 12, 768), "350m": (24, 16, 1024), "774m": (36, 20, 1280), "1558m": (48, 25, 1600), "test": (2, 2, 64)}   # layers, heads, width
VOCABULARY, PADDED_VOCABULARY = 50257, 50304       # padded to a multiple of 128: products with the head are far faster


class Block(nn.Module):
    def __init__(self, heads, width):
        super().__init__()
        self.heads = heads
        self.norm_attention, self.norm_mlp = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.projection = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):                            # [batch, length, width]
        shape = (*x.shape[:2], self.heads, x.shape[2] // self.heads)
        q, k, v = (part.view(shape).transpose(1, 2) for part in self.qkv(self.norm_attention(x)).chunk(3, dim=-1))
        attended = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.projection(attended.transpose(1, 2).reshape(x.shape))
        return x + self.down(F.gelu(self.up(self.norm_mlp(x)), approximate="tanh"))


def loss_of(x, norm_weight, norm_bias, head_weight, targets):
    logits = F.linear(F.layer_norm(x, norm_weight.shape, norm_weight, norm_bias), head_weight)
    return F.cross_entropy(logits.view(-1, logits.shape[-1]), targets.reshape(-1))


class Gpt2(nn.Module):
    """Called with tokens and targets [batch, length] it returns the mean cross-entropy."""

    def __init__(self, layers, heads, width, positions, vocabulary):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocabulary, width), nn.Embedding(positions, width)
        self.blocks = nn.ModuleList(Block(heads, width) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.loss_of = loss_of
        for name, weight in self.named_parameters():
            if name.endswith(("projection.weight", "down.weight")):
                nn.init.normal_(weight, std=0.02 / (2 * layers) ** 0.5)
            elif weight.dim() == 2:
                nn.init.normal_(weight, std=0.02)
            elif name.endswith("bias"):
                nn.init.zeros_(weight)

    def forward(self, tokens, targets):
        x = self.tokens(tokens) + self.positions.weight[:tokens.shape[1]]
        for block in self.blocks:
            x = block(x)
        return self.loss_of(x, self.norm.weight, self.norm.bias, self.tokens.weight, targets)

    @torch.no_grad()
    def load_hugging_face(self, tensors):
        """`tensors`: of transformers' GPT2LMHeadModel, whose Conv1D weights are [in, out]; nn.Linear's are [out, in]."""
        tensors = {name.removeprefix("transformer."): t for name, t in tensors.items()}

        def take(module, name, transposed=False):
            module.weight.copy_(tensors[name + ".weight"].t() if transposed else tensors[name + ".weight"])
            if getattr(module, "bias", None) is not None:
                module.bias.copy_(tensors[name + ".bias"])
        take(self.tokens, "wte")
        take(self.positions, "wpe")
        take(self.norm, "ln_f")
        for i, block in enumerate(self.blocks):
            take(block.norm_attention, f"h.{i}.ln_1")
            take(block.norm_mlp, f"h.{i}.ln_2")
            for module, name in ((block.qkv, "attn.c_attn"), (block.projection, "attn.c_proj"), (block.up, "mlp.c_fc"), (block.down, "mlp.c_proj")):
                take(module, f"h.{i}.{name}", transposed=True)


def adamw(model, lr):
    """AdamW of GPT-2 recipes: matrices and embeddings decay, biases and norms do not. Fused: one kernel over many tensors."""
    decayed = [p for p in model.parameters() if p.dim() >= 2]
    plain = [p for p in model.parameters() if p.dim() < 2]
    groups = [{"params": decayed, "weight_decay": 0.1}, {"params": plain, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=lr, betas=(0.9, 0.95), eps=1e-8, fused=True)
