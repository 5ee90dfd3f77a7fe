#!/usr/bin/env python3
"""Builds the built-in embedding model from the published weights of all-MiniLM-L6-v2.

    python scripts/build-model.py SOURCE models/all-minilm-l6-v2-int8

SOURCE holds model.safetensors, config.json, tokenizer.json and LICENSE; models/README.md says where they come from.
Needs the packages numpy and onnx in the versions named there; with them the output is the same to the byte.

What it does:
- writes the encoder as an ONNX graph for one text at a time: token ids in, one unit-length vector out (the mean over
  tokens, as the model was trained);
- stores every weight matrix as int8 (7 bits of it) with one scale per output channel, and the word embeddings as int8 with
  one scale per word;
- lets the runtime quantise activations on the fly, and keeps layer norms, biases and attention in float;
- writes manifest.json with the sha256 and size of every file.
"""

import hashlib
import json
import shutil
import struct
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SOURCE_WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
MAX_TOKENS = 256
# Processors without VNNI add two products of an activation (up to 255) and a weight in 16 bits, which hold 255 * 63 * 2 but
# not 255 * 127 * 2. Within this limit all processors get the same sums.
LARGEST_MULTIPLIED_INT8 = 63
LARGEST_INT8 = 127
MICROSOFT = "com.microsoft"


def main() -> None:
    source, target = Path(sys.argv[1]), Path(sys.argv[2])
    weights_file = source / "model.safetensors"
    if sha256(weights_file) != SOURCE_WEIGHTS_SHA256:
        sys.exit(f"{weights_file} is not the published file: its sha256 should be {SOURCE_WEIGHTS_SHA256}")
    config = json.loads((source / "config.json").read_text())
    target.mkdir(parents=True, exist_ok=True)
    onnx.save(build_encoder(read_safetensors(weights_file), config), target / "model.onnx")
    for name in ("tokenizer.json", "LICENSE"):
        shutil.copyfile(source / name, target / name)
    write_manifest(target, config["hidden_size"])


def build_encoder(weights: dict, config: dict) -> onnx.ModelProto:
    graph = Graph()
    epsilon = config["layer_norm_eps"]
    state = embed_tokens(graph, weights, epsilon)
    for layer in range(config["num_hidden_layers"]):
        state = encoder_layer(graph, weights, f"encoder.layer.{layer}.", state, config["num_attention_heads"], epsilon)
    graph.add("ReduceMean", [state, graph.constant("token_axis", np.array([1]))], "pooled", keepdims=0)
    graph.add("LpNormalization", ["pooled"], "sentence_embedding", axis=-1, p=2)
    return graph.to_model(config["hidden_size"])


def embed_tokens(graph: "Graph", weights: dict, epsilon: float) -> str:
    words, word_scales = quantise_rows(weights["embeddings.word_embeddings.weight"], LARGEST_INT8)
    graph.add("Gather", [graph.constant("words", words), "input_ids"], "word_int8")
    graph.add("Cast", ["word_int8"], "word_float", to=TensorProto.FLOAT)
    graph.add("Gather", [graph.constant("word_scales", word_scales), "input_ids"], "word_scale")
    graph.add("Mul", ["word_float", "word_scale"], "word")
    # A single text is all of token type 0, so that type's vector is part of every position's.
    places = weights["embeddings.position_embeddings.weight"] + weights["embeddings.token_type_embeddings.weight"][0]
    graph.add("Shape", ["input_ids"], "length", start=1, end=2)
    graph.add("Slice", [graph.constant("places", places), graph.constant("zero", np.array([0])), "length"], "place")
    graph.add("Add", ["word", "place"], "embedding")
    norm = [graph.constant(f"embedding_norm.{part}", weights[f"embeddings.LayerNorm.{part}"]) for part in ("weight", "bias")]
    return graph.add("LayerNormalization", ["embedding", *norm], "embedded", axis=-1, epsilon=epsilon)


def encoder_layer(graph: "Graph", weights: dict, name: str, state: str, heads: int, epsilon: float) -> str:
    def weight(part: str) -> np.ndarray:
        return weights[f"{name}{part}.weight"]

    def bias(part: str) -> str:
        return graph.constant(f"{name}{part}.bias", weights[f"{name}{part}.bias"])

    def add_and_norm(part: str, output: str, residual: str) -> str:
        scale = graph.constant(f"{name}{part}.LayerNorm.weight", weight(f"{part}.LayerNorm"))
        inputs = [output, residual, scale, bias(f"{part}.LayerNorm"), bias(f"{part}.dense")]
        return graph.add("SkipLayerNormalization", inputs, f"{name}{part}.normed", MICROSOFT, epsilon=epsilon)

    heads_in = [f"attention.self.{part}" for part in ("query", "key", "value")]
    joined = graph.int8_matmul(state, np.concatenate([weight(part) for part in heads_in]), f"{name}heads")
    split = [f"{name}{part}" for part in heads_in]
    graph.add("Split", [joined], split, axis=2, num_outputs=3)
    joined_bias = np.concatenate([weights[f"{name}{part}.bias"] for part in heads_in])
    attended = graph.add(
        "MultiHeadAttention",
        [*split, graph.constant(f"{name}heads.bias", joined_bias)],
        f"{name}attended",
        MICROSOFT,
        num_heads=heads,
    )
    projected = graph.int8_matmul(attended, weight("attention.output.dense"), f"{name}projected")
    attention = add_and_norm("attention.output", projected, state)
    widened = graph.int8_matmul(attention, weight("intermediate.dense"), f"{name}widened")
    activated = graph.add("BiasGelu", [widened, bias("intermediate.dense")], f"{name}activated", MICROSOFT)
    narrowed = graph.int8_matmul(activated, weight("output.dense"), f"{name}narrowed")
    return add_and_norm("output", narrowed, attention)


class Graph:
    """Nodes and constants in the order they are added; every value is named after the node that makes it."""

    def __init__(self) -> None:
        self.nodes: list = []
        self.constants: list = []

    def constant(self, name: str, value: np.ndarray) -> str:
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def add(self, operator: str, inputs: list, output, domain: str = "", **attributes) -> str:
        outputs = output if isinstance(output, list) else [output]
        self.nodes.append(helper.make_node(operator, inputs, outputs, name=outputs[0], domain=domain, **attributes))
        return outputs[0]

    def int8_matmul(self, value: str, weight: np.ndarray, name: str) -> str:
        """value @ weight.T, with the weight stored as (output, input), one scale for each output."""
        quantised, scales = quantise_rows(weight, LARGEST_MULTIPLIED_INT8)
        inputs = [value, self.constant(f"{name}.int8", quantised.T), self.constant(f"{name}.scales", scales[:, 0])]
        return self.add("DynamicQuantizeMatMul", inputs, name, MICROSOFT)

    def to_model(self, dimension: int) -> onnx.ModelProto:
        ids = helper.make_tensor_value_info("input_ids", TensorProto.INT64, [1, "tokens"])
        vector = helper.make_tensor_value_info("sentence_embedding", TensorProto.FLOAT, [1, dimension])
        graph = helper.make_graph(self.nodes, "sentence_encoder", [ids], [vector], self.constants)
        opsets = [helper.make_opsetid("", 21), helper.make_opsetid(MICROSOFT, 1)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=10, producer_name="build-model.py")
        onnx.checker.check_model(model)
        return model


def quantise_rows(matrix: np.ndarray, largest: int) -> tuple:
    """Symmetric int8 up to ±largest, one scale per row: row = int8 * scale."""
    scales = np.abs(matrix).max(axis=1, keepdims=True) / largest
    scales[scales == 0] = 1
    return np.rint(matrix / scales).astype(np.int8), scales.astype(np.float32)


def read_safetensors(path: Path) -> dict:
    data = path.read_bytes()
    start = 8 + struct.unpack("<Q", data[:8])[0]
    tensors = {}
    for name, entry in json.loads(data[8:start]).items():
        if name == "__metadata__" or entry["dtype"] != "F32":
            continue
        begin, end = entry["data_offsets"]
        tensors[name] = np.frombuffer(data[start + begin : start + end], np.float32).reshape(entry["shape"])
    return tensors


def write_manifest(target: Path, dimension: int) -> None:
    files = {
        name: {"sha256": sha256(target / name), "bytes": (target / name).stat().st_size}
        for name in ("model.onnx", "tokenizer.json", "LICENSE")
    }
    manifest = {
        "name": target.name,
        "dimension": dimension,
        "maxTokens": MAX_TOKENS,
        "weights": "model.onnx",
        "tokenizer": "tokenizer.json",
        "files": files,
    }
    (target / "manifest.json").write_text(json.dumps(manifest, indent=2) + "\n")


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


if __name__ == "__main__":
    main()
