"""The models that the GPU engine is checked with. Random weights, the same every time."""

import torch
import torch.nn.functional as F
import torchvision
from torch import nn

TOKENS = 128
WORDS = 30522


class Layer(nn.Module):
    """A layer of a transformer."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv, self.o = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.f1, self.f2 = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.n1, self.n2 = nn.LayerNorm(width), nn.LayerNorm(width)

    def forward(self, x):
        b, t, h = x.shape
        parts = self.qkv(x).view(b, t, 3, self.heads, h // self.heads)
        q, k, v = parts.permute(2, 0, 3, 1, 4).unbind(0)
        a = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, t, h)
        x = self.n1(x + self.o(a))
        return self.n2(x + self.f2(F.gelu(self.f1(x))))


class Bert(nn.Module):
    """As large as BERT base."""

    def __init__(self, layers=12, width=768, heads=12, words=WORDS, tokens=512):
        super().__init__()
        self.word, self.pos = nn.Embedding(words, width), nn.Embedding(tokens, width)
        self.norm = nn.LayerNorm(width)
        self.layers = nn.ModuleList(Layer(width, heads) for _ in range(layers))
        self.pool = nn.Linear(width, width)

    def forward(self, ids):
        x = self.norm(self.word(ids) + self.pos.weight[: ids.shape[1]])
        for layer in self.layers:
            x = layer(x)
        return torch.tanh(self.pool(x[:, 0]))


NETS = {
    "r18": torchvision.models.resnet18,
    "r50": torchvision.models.resnet50,
    "vit": torchvision.models.vit_b_16,
    "bert": Bert,
}


def net(name):
    """The module called @name, on the GPU in halves."""
    torch.manual_seed(7)
    torch.backends.mha.set_fastpath_enabled(False)  # It cannot be exported.
    module = NETS[name]()
    if name == "vit":
        nn.init.normal_(module.heads.head.weight, std=0.02)  # It starts with zeros.
    module = module.eval().half().cuda()
    return module if name == "bert" else module.to(memory_format=torch.channels_last)


def sample(name, rows, seed):
    """Inputs for @rows rows."""
    numbers = torch.Generator().manual_seed(seed)
    if name == "bert":
        return {"ids": torch.randint(0, WORDS, (rows, TOKENS), generator=numbers).cuda()}
    x = torch.randn(rows, 3, 224, 224, generator=numbers).half().cuda()
    return {"x": x.to(memory_format=torch.channels_last)}
