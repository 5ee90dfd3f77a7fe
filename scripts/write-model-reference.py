#!/usr/bin/env python3
"""Writes what the published model answers, in float32, for a few hard texts: the oracle of test/models/builtin-model.test.ts.

    python scripts/write-model-reference.py SOURCE > test/models/cases/reference.json

SOURCE is that of build-model.py. Token ids come from the reference tokenizer (the package tokenizers); vectors from the
encoder written out in numpy, so that neither the ONNX graph nor its runtime has a part in them.
"""

import json
import sys
import unicodedata
from math import erf, sqrt
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer

from importlib.util import module_from_spec, spec_from_file_location

spec = spec_from_file_location("build_model", Path(__file__).with_name("build-model.py"))
build_model = module_from_spec(spec)
spec.loader.exec_module(build_model)

HARD_TEXTS = [
    "",
    "   ",
    "Hello, World!",
    "人工智能如何改变世界？",
    "日本語のテキスト と ひらがな",
    "한국어 텍스트",
    "ไทยภาษา",
    "हिन्दी पाठ",
    "الدراسة العربية",
    "café naïve Ångström ÉCOLE ñ",
    "cafe\u0301 with a combining accent",
    "Việt Nam Đà Nẵng",
    "😀 emoji 👩‍👩‍👧‍👦 family",
    "ΣΊΣΥΦΟΣ and ᾼ and Ǆ",
    "İstanbul ſtraße ẞ",
    "INTERLEUKIN-6 (IL-6) β-catenin α1 µg ½ ﬁ ²",
    "a\u0000b\ufffdc\u200bd\u00ade",
    "tab\tnew\nline\r\nvt\u000b \u00a0nbsp\u2028ls",
    "[CLS] [MASK] [SEP] hi [PAD]",
    "don't won't U.S.A. e-mail@x.org",
    "$100,000.50 + 3^2 = `code` ~ |x|",
    "–—“quotes”…‹›¿¡§",
    "𝓐𝓑 math",
    "x" * 101,
    "\ue000private \U000e0041tag",
    "㐀𠀀丽",
]

SENTENCES = [
    "How do vaccines protect adults against influenza?",
    "Vaccination trains the immune system to recognise the influenza virus, which lowers the risk of severe illness.",
    "The central bank raised interest rates by a quarter of a percentage point on Wednesday.",
    "Mitochondria are the powerhouse of the cell.",
]


def main() -> None:
    source = Path(sys.argv[1])
    tokenizer = Tokenizer.from_file(str(source / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    config = json.loads((source / "config.json").read_text())
    weights = build_model.read_safetensors(source / "model.safetensors")

    def ids(text: str) -> list:
        return tokenizer.encode(unicodedata.normalize("NFC", text)).ids

    reference = {
        "about": "Written by scripts/write-model-reference.py from the published float32 weights.",
        "tokens": [{"text": text, "ids": ids(text)} for text in HARD_TEXTS],
        "vectors": [
            {"text": text, "vector": [round(float(x), 6) for x in encode(ids(text), weights, config)]}
            for text in SENTENCES
        ],
    }
    json.dump(reference, sys.stdout)


def encode(ids: list, weights: dict, config: dict) -> np.ndarray:
    def linear(value: np.ndarray, name: str) -> np.ndarray:
        return value @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]

    def norm(value: np.ndarray, name: str) -> np.ndarray:
        centred = value - value.mean(axis=-1, keepdims=True)
        deviation = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + config["layer_norm_eps"])
        return centred / deviation * weights[f"{name}.weight"] + weights[f"{name}.bias"]

    heads = config["num_attention_heads"]

    def by_head(value: np.ndarray) -> np.ndarray:
        return value.reshape(len(value), heads, -1).transpose(1, 0, 2)

    state = weights["embeddings.word_embeddings.weight"][ids]
    state = state + weights["embeddings.position_embeddings.weight"][: len(ids)]
    state = norm(state + weights["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
    for layer in range(config["num_hidden_layers"]):
        name = f"encoder.layer.{layer}"
        query, key, value = (by_head(linear(state, f"{name}.attention.self.{p}")) for p in ("query", "key", "value"))
        scores = query @ key.transpose(0, 2, 1) / sqrt(query.shape[-1])
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        attended = (scores / scores.sum(axis=-1, keepdims=True) @ value).transpose(1, 0, 2).reshape(len(ids), -1)
        state = norm(linear(attended, f"{name}.attention.output.dense") + state, f"{name}.attention.output.LayerNorm")
        wide = linear(state, f"{name}.intermediate.dense")
        wide = wide * 0.5 * (1 + np.vectorize(erf)(wide / sqrt(2)))
        state = norm(linear(wide, f"{name}.output.dense") + state, f"{name}.output.LayerNorm")
    pooled = state.mean(axis=0)
    return pooled / np.linalg.norm(pooled)


if __name__ == "__main__":
    main()
