"""Blocks of well-known transformers, small, for export.py. Each is written with
the norms as its family's reference code spells them; attention is the same
function throughout."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.export import Dim


def attention(q, k, v, causal):
    """Softmax attention over [heads, seq, head_dim], one batch. Products are
    three-dimensional: a torch.matmul of four dimensions with a dynamic one
    would be exported as copies with run-time checks."""
    scores = torch.bmm(q, k.transpose(1, 2)) * q.shape[-1] ** -0.5
    if causal:
        position = torch.arange(q.shape[1])
        future = position[None, :] > position[:, None]
        scores = scores.masked_fill(future, torch.finfo(scores.dtype).min)
    scores = F.softmax(scores, dim=-1, dtype=torch.float32).to(q.dtype)
    return torch.bmm(scores, v)


def split_heads(x, heads):
    """[1, seq, heads * head_dim] to [1, heads, seq, head_dim]."""
    return x.unflatten(2, (heads, x.shape[2] // heads)).transpose(1, 2)


def merge_heads(x):
    """[heads, seq, head_dim] to [1, seq, heads * head_dim]."""
    return x.transpose(0, 1).flatten(1).unsqueeze(0)


def self_attention(x, qkv, heads, causal):
    q, k, v = (split_heads(linear(x), heads).flatten(0, 1) for linear in qkv)
    return merge_heads(attention(q, k, v, causal))


def repeat_heads(x, groups):
    """Grouped queries: each head of k and v serves `groups` heads of q.
    [1, heads, seq, head_dim] to [heads * groups, seq, head_dim]."""
    x = x.flatten(0, 1)[:, None].expand(-1, groups, -1, -1)
    return x.flatten(0, 1)


def sequence(hidden, dtype):
    """One input x: [1, seq, hidden]."""
    seq = Dim("seq", min=2, max=4096)
    return {"x": (torch.zeros(1, 64, hidden, dtype=dtype), {1: seq})}


class Block(nn.Module):
    """What the blocks below share: sizes, three projections, the example."""

    hidden, heads, dtype = 128, 4, torch.bfloat16

    def projections(self, bias, kv_heads=None):
        head_dim = self.hidden // self.heads
        kv = (kv_heads or self.heads) * head_dim
        self.q_proj = nn.Linear(self.hidden, self.hidden, bias=bias)
        self.k_proj = nn.Linear(self.hidden, kv, bias=bias)
        self.v_proj = nn.Linear(self.hidden, kv, bias=bias)
        self.o_proj = nn.Linear(self.hidden, self.hidden, bias=bias)

    def qkv(self):
        return self.q_proj, self.k_proj, self.v_proj

    @classmethod
    def inputs(cls):
        return sequence(cls.hidden, cls.dtype)


class GPT2Block(Block):
    """LayerNorm with weight and bias in front of both halves."""

    def __init__(self):
        super().__init__()
        h = self.hidden
        self.ln_1, self.ln_2 = nn.LayerNorm(h), nn.LayerNorm(h)
        self.projections(bias=True)
        self.fc, self.proj = nn.Linear(h, 4 * h), nn.Linear(4 * h, h)

    def forward(self, x):
        y = self_attention(self.ln_1(x), self.qkv(), self.heads, causal=True)
        x = x + self.o_proj(y)
        return x + self.proj(F.gelu(self.fc(self.ln_2(x)), approximate="tanh"))


class GemmaNorm(nn.Module):
    """Weight 1 + w, multiplied in f32 before the rounding."""

    def __init__(self, size):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(size))

    def forward(self, x):
        y = x.float()
        y = y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + 1e-6)
        return (y * (1.0 + self.weight.float())).type_as(x)


class GemmaBlock(Block):
    """Norms before and after both halves, GeGLU."""

    def __init__(self):
        super().__init__()
        h = self.hidden
        self.norms = nn.ModuleList(GemmaNorm(h) for _ in range(4))
        self.projections(bias=False)
        self.gate = nn.Linear(h, 2 * h, bias=False)
        self.up = nn.Linear(h, 2 * h, bias=False)
        self.down = nn.Linear(2 * h, h, bias=False)

    def forward(self, x):
        before, after, before_mlp, after_mlp = self.norms
        y = self_attention(before(x), self.qkv(), self.heads, causal=True)
        x = x + after(self.o_proj(y))
        y = before_mlp(x)
        y = F.gelu(self.gate(y), approximate="tanh") * self.up(y)
        return x + after_mlp(self.down(y))


class LlamaNorm(nn.Module):
    """Rounded before the weight is applied, as in Llama, Qwen and T5."""

    def __init__(self, size, eps=1e-6):
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(size)), eps

    def forward(self, x):
        y = x.to(torch.float32)
        y = y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + self.eps)
        return self.weight * y.to(x.dtype)


class QwenBlock(Block):
    """q and k are normalised per head; two heads of q share one of k and v."""

    kv_heads = 2

    def __init__(self):
        super().__init__()
        h, head_dim = self.hidden, self.hidden // self.heads
        self.input_norm, self.post_norm = LlamaNorm(h), LlamaNorm(h)
        self.q_norm, self.k_norm = LlamaNorm(head_dim), LlamaNorm(head_dim)
        self.projections(bias=False, kv_heads=self.kv_heads)
        self.gate = nn.Linear(h, 2 * h, bias=False)
        self.up = nn.Linear(h, 2 * h, bias=False)
        self.down = nn.Linear(2 * h, h, bias=False)

    def forward(self, x):
        y = self.input_norm(x)
        head_dim = self.hidden // self.heads
        q = self.q_norm(self.q_proj(y).unflatten(2, (self.heads, head_dim)))
        k = self.k_norm(self.k_proj(y).unflatten(2, (self.kv_heads, head_dim)))
        v = split_heads(self.v_proj(y), self.kv_heads)
        groups = self.heads // self.kv_heads
        q = q.transpose(1, 2).flatten(0, 1)
        k = repeat_heads(k.transpose(1, 2), groups)
        v = repeat_heads(v, groups)
        x = x + self.o_proj(merge_heads(attention(q, k, v, causal=True)))
        y = self.post_norm(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class BertLayer(Block):
    """LayerNorm after each residual."""

    def __init__(self):
        super().__init__()
        h = self.hidden
        self.projections(bias=True)
        self.ln_1 = nn.LayerNorm(h, eps=1e-12)
        self.ln_2 = nn.LayerNorm(h, eps=1e-12)
        self.fc, self.proj = nn.Linear(h, 4 * h), nn.Linear(4 * h, h)

    def forward(self, x):
        y = self_attention(x, self.qkv(), self.heads, causal=False)
        x = self.ln_1(self.o_proj(y) + x)
        return self.ln_2(self.proj(F.gelu(self.fc(x))) + x)


class BertLayerF32(BertLayer):
    dtype = torch.float32


class T5Block(Block):
    """RMSNorm without a mean, no scaling of the scores, relu."""

    def __init__(self):
        super().__init__()
        h = self.hidden
        self.norm_1, self.norm_2 = LlamaNorm(h), LlamaNorm(h)
        self.projections(bias=False)
        self.wi = nn.Linear(h, 4 * h, bias=False)
        self.wo = nn.Linear(4 * h, h, bias=False)

    def forward(self, x):
        y = self_attention(self.norm_1(x), self.qkv(), self.heads, causal=False)
        x = x + self.o_proj(y)
        return x + self.wo(F.relu(self.wi(self.norm_2(x))))


class DiTBlock(Block):
    """AdaLN: scale, shift and gate are computed from a condition c."""

    def __init__(self):
        super().__init__()
        h = self.hidden
        self.norm_1 = nn.LayerNorm(h, elementwise_affine=False, eps=1e-6)
        self.norm_2 = nn.LayerNorm(h, elementwise_affine=False, eps=1e-6)
        self.projections(bias=True)
        self.fc, self.proj = nn.Linear(h, 4 * h), nn.Linear(4 * h, h)
        self.ada = nn.Linear(h, 6 * h)

    def forward(self, x, c):
        parts = self.ada(F.silu(c)).unsqueeze(1).chunk(6, dim=-1)
        shift, scale, gate, shift_mlp, scale_mlp, gate_mlp = parts
        y = self.norm_1(x) * (1 + scale) + shift
        y = self_attention(y, self.qkv(), self.heads, causal=False)
        x = x + gate * self.o_proj(y)
        y = self.norm_2(x) * (1 + scale_mlp) + shift_mlp
        y = self.proj(F.gelu(self.fc(y), approximate="tanh"))
        return x + gate_mlp * y

    @classmethod
    def inputs(cls):
        c = torch.zeros(1, cls.hidden, dtype=cls.dtype)
        return sequence(cls.hidden, cls.dtype) | {"c": (c, {})}


class ViTBlock(Block):
    """A fixed number of tokens (196 patches and a class), and the last norm."""

    def __init__(self):
        super().__init__()
        h = self.hidden
        self.ln_1, self.ln_2 = nn.LayerNorm(h, eps=1e-6), nn.LayerNorm(h, eps=1e-6)
        self.projections(bias=True)
        self.fc, self.proj = nn.Linear(h, 4 * h), nn.Linear(4 * h, h)
        self.ln = nn.LayerNorm(h, eps=1e-6)

    def forward(self, x):
        y = self_attention(self.ln_1(x), self.qkv(), self.heads, causal=False)
        x = x + self.o_proj(y)
        x = x + self.proj(F.gelu(self.fc(self.ln_2(x))))
        return self.ln(x)

    @classmethod
    def inputs(cls):
        return {"x": (torch.zeros(1, 197, cls.hidden, dtype=cls.dtype), {})}


class MoERouter(nn.Module):
    """Norm, then scores of 64 experts."""

    hidden, experts, dtype = 256, 64, torch.bfloat16

    def __init__(self):
        super().__init__()
        self.norm = LlamaNorm(self.hidden)
        self.router = nn.Linear(self.hidden, self.experts, bias=False)

    def forward(self, x):
        return F.softmax(self.router(self.norm(x)), dim=-1, dtype=torch.float32)

    @classmethod
    def inputs(cls):
        tokens = Dim("tokens", min=2, max=1 << 20)
        x = torch.zeros(64, cls.hidden, dtype=cls.dtype)
        return {"x": (x, {0: tokens})}


MODELS = {
    "bert_layer": BertLayer,
    "bert_layer_f32": BertLayerF32,
    "dit_block": DiTBlock,
    "gemma_block": GemmaBlock,
    "gpt2_block": GPT2Block,
    "moe_router": MoERouter,
    "qwen_block": QwenBlock,
    "t5_block": T5Block,
    "vit_block": ViTBlock,
}
