"""Tiny GGUF files, and what outside libraries read in them.

    python3 -m pip install -r requirements.txt && python3 make.py

bytes.gguf   byte-level BPE with single digits (the rule that GGUF calls smollm), every block type
pieces.gguf  a SentencePiece vocabulary with scores and byte fallback
blocks.gguf  the formats with blocks of 256, from random bytes, and those with five bits; no vocabulary
qwen2.gguf   the fixture folder qwen2-tied-bf16, and Qwen2's rule of cutting text
qwen3.gguf   the fixture folder qwen3-untied-f16
golden.json  per tensor: shape, sha256 of its f32 values in Hugging Face's order, the first eight values; per text: ids
"""

import hashlib
import io
import json
import pathlib

import gguf
import numpy as np
import sentencepiece
from gguf.quants import dequantize, quantize
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

HERE = pathlib.Path(__file__).parent
FIXTURES = HERE.parents[3] / "shared/fixtures/models"
Q = gguf.GGMLQuantizationType
TEXTS = [
    "Hello world 2024! 你好  \n\tif x == 10:",
    "the little fox asked the little owl",
    " leading and trailing ",
    "",
    "naïve café 🦊 x²",
    "a  b   c\n\n\nd",
    "<|im_start|>user\nhi<|im_end|>\n",
]
CORPUS = [
    "The little fox asked the little owl where the river ends.",
    "The owl said: follow the water for 12 days and 7 nights.",
    "if x == 10:\n\treturn the answer to the little question",
    "Hello world! Hello little world, hello owl, hello fox.",
] * 20


def permute(rows, heads):
    """Half-split rotary order to the interleaved one, as convert_hf_to_gguf.py does it."""
    shape = rows.shape
    return rows.reshape(heads, 2, shape[0] // heads // 2, *shape[1:]).swapaxes(1, 2).reshape(shape)


def unpermute(rows, heads):
    shape = rows.shape
    return rows.reshape(heads, shape[0] // heads // 2, 2, *shape[1:]).swapaxes(1, 2).reshape(shape)


def write_model(path, vocabulary, hidden, ffn, heads, kv_heads, types, seed):
    """Writes a model whose layers use `types` in turn; returns what must be read back."""
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name(path.stem)
    writer.add_context_length(256)
    writer.add_embedding_length(hidden)
    writer.add_block_count(len(types))
    writer.add_feed_forward_length(ffn)
    writer.add_head_count(heads)
    writer.add_head_count_kv(kv_heads)
    writer.add_rope_dimension_count(hidden // heads)
    writer.add_rope_freq_base(10000.0)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(len(vocabulary["tokens"]))
    writer.add_tokenizer_model(vocabulary["model"])
    writer.add_token_list(vocabulary["tokens"])
    writer.add_token_types(vocabulary["types"])
    if "merges" in vocabulary:
        writer.add_tokenizer_pre(vocabulary["pre"])
        writer.add_token_merges(vocabulary["merges"])
    if "scores" in vocabulary:
        writer.add_token_scores(vocabulary["scores"])
    writer.add_bos_token_id(vocabulary["bos"])
    writer.add_eos_token_id(vocabulary["eos"])
    writer.add_add_bos_token(vocabulary["add_bos"])
    writer.add_chat_template("{% for m in messages %}{{ m.content }}{% endfor %}")

    rng = np.random.default_rng(seed)
    head_dim = hidden // heads
    golden = {}

    def add(theirs, ours, shape, kind, turned=0):
        values = (rng.standard_normal(shape) / np.sqrt(shape[-1])).astype(np.float32)
        if turned:
            values = permute(values, turned)
        stored = quantize(values, kind) if kind not in (Q.F32,) else values
        if kind == Q.F16:
            stored = values.astype(np.float16)
        raw = {Q.F32: None, Q.F16: None}.get(kind, kind)
        writer.add_tensor(theirs, stored, raw_dtype=raw)
        read = stored.astype(np.float32) if raw is None else dequantize(stored, kind)
        if turned:
            read = unpermute(read, turned)
        read = np.ascontiguousarray(read, dtype=np.float32)
        golden[ours] = {
            "type": kind.name,
            "shape": list(read.shape),
            "sha256": hashlib.sha256(read.tobytes()).hexdigest(),
            "first": [float(v) for v in read.ravel()[:8]],
        }

    add("token_embd.weight", "model.embed_tokens.weight", (len(vocabulary["tokens"]), hidden), Q.Q8_0)
    for layer, kinds in enumerate(types):
        block, ours = f"blk.{layer}", f"model.layers.{layer}"
        add(f"{block}.attn_norm.weight", f"{ours}.input_layernorm.weight", (hidden,), Q.F32)
        add(f"{block}.attn_q.weight", f"{ours}.self_attn.q_proj.weight", (hidden, hidden), kinds[0], heads)
        add(f"{block}.attn_k.weight", f"{ours}.self_attn.k_proj.weight", (kv_heads * head_dim, hidden), kinds[1], kv_heads)
        add(f"{block}.attn_v.weight", f"{ours}.self_attn.v_proj.weight", (kv_heads * head_dim, hidden), kinds[2])
        add(f"{block}.attn_output.weight", f"{ours}.self_attn.o_proj.weight", (hidden, hidden), kinds[3])
        add(f"{block}.ffn_norm.weight", f"{ours}.post_attention_layernorm.weight", (hidden,), Q.F32)
        add(f"{block}.ffn_gate.weight", f"{ours}.mlp.gate_proj.weight", (ffn, hidden), kinds[4])
        add(f"{block}.ffn_up.weight", f"{ours}.mlp.up_proj.weight", (ffn, hidden), kinds[5])
        add(f"{block}.ffn_down.weight", f"{ours}.mlp.down_proj.weight", (hidden, ffn), kinds[6])
    add("output_norm.weight", "model.norm.weight", (hidden,), Q.F32)
    if vocabulary["own_head"]:
        add("output.weight", "lm_head.weight", (len(vocabulary["tokens"]), hidden), Q.F16)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return golden


def write_blocks(path, seed):
    """Q4_K, Q5_K and Q6_K have no quantizer in the gguf package, so their blocks are random bytes with small scales."""
    hidden, ffn, heads, kv_heads, head_dim, vocab = 256, 32, 4, 2, 8, 40
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(64)
    writer.add_embedding_length(hidden)
    writer.add_block_count(1)
    writer.add_feed_forward_length(ffn)
    writer.add_head_count(heads)
    writer.add_head_count_kv(kv_heads)
    writer.add_key_length(head_dim)
    writer.add_value_length(head_dim)
    writer.add_rope_dimension_count(head_dim)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(vocab)
    rng = np.random.default_rng(seed)
    golden = {}
    # The bytes of a block that are scales of f16.
    scales_at = {Q.Q4_K: [0, 2], Q.Q5_K: [0, 2], Q.Q6_K: [208]}

    def add(theirs, ours, shape, kind, turned=0):
        if kind in scales_at:
            block_len, block_bytes = gguf.GGML_QUANT_SIZES[kind]
            blocks = rng.integers(0, 256, (shape[0] * shape[1] // block_len, block_bytes), dtype=np.uint8)
            for at in scales_at[kind]:
                scales = rng.uniform(-0.01, 0.01, len(blocks)).astype(np.float16)
                blocks[:, at : at + 2] = scales.view(np.uint8).reshape(-1, 2)
            stored = blocks.reshape(shape[0], -1)
        else:
            values = rng.standard_normal(shape).astype(np.float32)
            stored = values if kind == Q.F32 else quantize(values, kind)
        writer.add_tensor(theirs, stored, raw_dtype=None if kind == Q.F32 else kind)
        read = stored if kind == Q.F32 else dequantize(stored, kind)
        read = np.ascontiguousarray(unpermute(read, turned) if turned else read, dtype=np.float32)
        golden[ours] = {
            "type": kind.name,
            "shape": list(read.shape),
            "sha256": hashlib.sha256(read.tobytes()).hexdigest(),
            "first": [float(v) for v in read.ravel()[:8]],
        }

    q, kv = heads * head_dim, kv_heads * head_dim
    add("token_embd.weight", "model.embed_tokens.weight", (vocab, hidden), Q.Q6_K)
    add("blk.0.attn_norm.weight", "model.layers.0.input_layernorm.weight", (hidden,), Q.F32)
    add("blk.0.attn_q.weight", "model.layers.0.self_attn.q_proj.weight", (q, hidden), Q.Q4_K, heads)
    add("blk.0.attn_k.weight", "model.layers.0.self_attn.k_proj.weight", (kv, hidden), Q.Q5_K, kv_heads)
    add("blk.0.attn_v.weight", "model.layers.0.self_attn.v_proj.weight", (kv, hidden), Q.Q6_K)
    add("blk.0.attn_output.weight", "model.layers.0.self_attn.o_proj.weight", (hidden, q), Q.Q5_0)
    add("blk.0.ffn_norm.weight", "model.layers.0.post_attention_layernorm.weight", (hidden,), Q.F32)
    add("blk.0.ffn_gate.weight", "model.layers.0.mlp.gate_proj.weight", (ffn, hidden), Q.Q4_K)
    add("blk.0.ffn_up.weight", "model.layers.0.mlp.up_proj.weight", (ffn, hidden), Q.Q5_K)
    add("blk.0.ffn_down.weight", "model.layers.0.mlp.down_proj.weight", (hidden, ffn), Q.Q5_1)
    add("output_norm.weight", "model.norm.weight", (hidden,), Q.F32)
    add("output.weight", "lm_head.weight", (vocab, hidden), Q.Q8_0)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return golden


def theirs_of(name):
    """GGUF's name of a tensor of a Hugging Face folder."""
    outer = {"model.embed_tokens.weight": "token_embd.weight", "model.norm.weight": "output_norm.weight", "lm_head.weight": "output.weight"}
    if name in outer:
        return outer[name]
    _, _, layer, rest = name.split(".", 3)
    base, kind = rest.rsplit(".", 1)
    inner = {
        "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k",
        "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output", "self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm",
        "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down",
    }
    return f"blk.{layer}.{inner[base]}.{kind}"


def write_folder(path, architecture, folder, pre, rule):
    """A fixture folder as the converter of llama.cpp writes it: matrices in their own type, vectors in f32, no row
    reordered. `rule` gives the tokenizer that cuts text as `pre` does."""
    config = json.loads((folder / "config.json").read_text())
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_head_count_kv(config["num_key_value_heads"])
    if "head_dim" in config:
        writer.add_key_length(config["head_dim"])
        writer.add_value_length(config["head_dim"])
    writer.add_rope_freq_base(config["rope_theta"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    state = json.loads(tokenizer.to_str())
    vocab = state["model"]["vocab"]
    special = {piece["content"] for piece in state["added_tokens"]}
    tokens = sorted(vocab, key=vocab.get)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(pre)
    writer.add_token_list(tokens)
    writer.add_token_types([gguf.TokenType.CONTROL if t in special else gguf.TokenType.NORMAL for t in tokens])
    writer.add_token_merges([m if isinstance(m, str) else " ".join(m) for m in state["model"]["merges"]])
    writer.add_bos_token_id(config["bos_token_id"])
    writer.add_eos_token_id(config["eos_token_id"])
    writer.add_add_bos_token(False)
    data = (folder / "model.safetensors").read_bytes()
    begin = 8 + int.from_bytes(data[:8], "little")
    for name, info in json.loads(data[8:begin]).items():
        if name == "__metadata__":
            continue
        first, last = info["data_offsets"]
        raw = np.frombuffer(data[begin + first : begin + last], dtype=np.uint16).reshape(info["shape"])
        if raw.ndim == 1:
            values = raw.view(np.float16).astype(np.float32) if info["dtype"] == "F16" else (raw.astype(np.uint32) << 16).view(np.float32)
            writer.add_tensor(theirs_of(name), values)
        elif info["dtype"] == "F16":
            writer.add_tensor(theirs_of(name), raw.view(np.float16))
        else:
            writer.add_tensor(theirs_of(name), raw.view(np.uint8), raw_dtype=Q.BF16)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    tokenizer = rule(tokenizer)
    # Decomposed and composed spellings of one letter: Qwen's rule composes them first.
    texts = TEXTS + ["nai\u0308ve cafe\u0301 12345"]
    return [{"text": text, "ids": tokenizer.encode(text).ids, "decoded": tokenizer.decode(tokenizer.encode(text).ids)} for text in texts]


def as_qwen2(tokenizer):
    """The normalizer and the cuts of the tokenizer.json that Qwen2 and Qwen3 publish."""
    rule = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(rule), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    )
    return tokenizer


def byte_level():
    """A vocabulary of the kind that SmolLM2 has, and the library that cuts text with it."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    trainer = trainers.BpeTrainer(
        vocab_size=330, special_tokens=special, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    tokenizer.train_from_iterator(CORPUS, trainer)
    state = json.loads(tokenizer.to_str())
    vocab = state["model"]["vocab"]
    merges = [m if isinstance(m, str) else " ".join(m) for m in state["model"]["merges"]]
    tokens = sorted(vocab, key=vocab.get)
    vocabulary = {
        "model": "gpt2",
        "pre": "smollm",
        "tokens": tokens,
        "types": [gguf.TokenType.CONTROL if t in special else gguf.TokenType.NORMAL for t in tokens],
        "merges": merges,
        "bos": 1,
        "eos": 2,
        "add_bos": False,
        "own_head": True,
    }
    texts = [
        {"text": text, "ids": tokenizer.encode(text).ids, "decoded": tokenizer.decode(tokenizer.encode(text).ids)}
        for text in TEXTS
    ]
    return vocabulary, texts


def sentence_piece():
    """A vocabulary of the kind that Llama 2 has, and the library that cuts text with it."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(CORPUS),
        model_writer=model,
        model_type="bpe",
        vocab_size=360,
        byte_fallback=True,
        normalization_rule_name="identity",
        remove_extra_whitespaces=False,
        split_digits=True,
        character_coverage=1.0,
        minloglevel=2,
    )
    processor = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())

    def kind(i):
        if processor.is_unknown(i):
            return gguf.TokenType.UNKNOWN
        if processor.is_control(i):
            return gguf.TokenType.CONTROL
        if processor.is_byte(i):
            return gguf.TokenType.BYTE
        return gguf.TokenType.NORMAL

    ids = range(processor.get_piece_size())
    vocabulary = {
        "model": "llama",
        "tokens": [processor.id_to_piece(i) for i in ids],
        "types": [kind(i) for i in ids],
        "scores": [processor.get_score(i) for i in ids],
        "bos": 1,
        "eos": 2,
        "add_bos": True,
        "own_head": False,
    }
    # Spelled-out special tokens are the business of the program around SentencePiece: left out here.
    texts = [
        {"text": text, "ids": processor.encode(text), "decoded": processor.decode(processor.encode(text))}
        for text in TEXTS
        if "<|" not in text
    ]
    return vocabulary, texts


def main():
    golden = {"made_by": f"make.py, gguf 0.19.0, tokenizers 0.23.3, sentencepiece {sentencepiece.__version__}"}
    vocabulary, texts = byte_level()
    types = [
        [Q.Q4_0, Q.Q4_1, Q.Q8_0, Q.F16, Q.BF16, Q.F32, Q.Q4_1],
        [Q.Q8_0, Q.F32, Q.Q4_0, Q.Q4_1, Q.Q4_0, Q.Q8_0, Q.BF16],
    ]
    tensors = write_model(HERE / "bytes.gguf", vocabulary, 64, 96, 4, 2, types, 7)
    golden["bytes.gguf"] = {"tensors": tensors, "texts": texts, "eos": [2]}
    vocabulary, texts = sentence_piece()
    types = [[Q.Q8_0, Q.Q8_0, Q.Q8_0, Q.Q8_0, Q.Q4_0, Q.Q4_0, Q.Q4_0]]
    tensors = write_model(HERE / "pieces.gguf", vocabulary, 32, 32, 2, 1, types, 8)
    golden["pieces.gguf"] = {"tensors": tensors, "texts": texts, "eos": [2]}
    golden["blocks.gguf"] = {"tensors": write_blocks(HERE / "blocks.gguf", 9)}
    texts = write_folder(HERE / "qwen2.gguf", "qwen2", FIXTURES / "qwen2-tied-bf16", "qwen2", as_qwen2)
    golden["qwen2.gguf"] = {"texts": texts, "eos": [2]}
    texts = write_folder(HERE / "qwen3.gguf", "qwen3", FIXTURES / "qwen3-untied-f16", "gpt-2", lambda tokenizer: tokenizer)
    golden["qwen3.gguf"] = {"texts": texts, "eos": [2]}
    (HERE / "golden.json").write_text(json.dumps(golden, indent=1, ensure_ascii=False) + "\n")


main()
