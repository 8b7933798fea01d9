"""Two tiny GGUF files, and what outside libraries read in them.

    python3 -m pip install -r requirements.txt && python3 make.py

bytes.gguf   byte-level BPE with single digits (the rule that GGUF calls smollm), every block type
pieces.gguf  a SentencePiece vocabulary with scores and byte fallback
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
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

HERE = pathlib.Path(__file__).parent
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
    (HERE / "golden.json").write_text(json.dumps(golden, indent=1, ensure_ascii=False) + "\n")


main()
