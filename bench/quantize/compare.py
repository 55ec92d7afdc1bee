#!/usr/bin/env python3
"""Compares the errors of models quantised by Sinter and by llama-quantize, type by type.

    compare.py --sinter BINDIR --peer BINDIR --out RESULTS.json MODEL.gguf... [--random] [--types ...]

Both quantise every matrix to one type (the peer by --pure, or by --tensor-type where it has no file
of that type). Matrices that have the type in both files are decoded by the package gguf, so by
neither program, and compared with the model's: root mean square errors over all of them, and their
ratio. --random adds a file of Llama-3.2-1B's matrices, two layers of them, whose rows are normal
or Student's t with 4 degrees of freedom, for the types that need rows of 256. Needs numpy and gguf.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import gguf
import numpy

# By the name of --type; what the peer is asked for, where that is another name.
TYPES = {"Q4_0": None, "Q4_1": None, "Q5_0": None, "Q5_1": None, "Q8_0": None, "Q2_K": None,
         "Q3_K": "Q3_K_S", "Q4_K": "Q4_K_S", "Q5_K": "Q5_K_S", "Q6_K": None, "IQ4_NL": None,
         "IQ4_XS": None, "MXFP4": None, "NVFP4": None, "F16": None, "BF16": None, "F32": None}
BY_TENSOR = {"MXFP4", "NVFP4"}  # the peer has no pure file of these
LLAMA_1B = {"attn_q": (2048, 2048), "attn_k": (512, 2048), "attn_v": (512, 2048),
            "attn_output": (2048, 2048), "ffn_gate": (8192, 2048), "ffn_up": (8192, 2048),
            "ffn_down": (2048, 8192)}
LAYERS, WIDTH, VOCABULARY = 2, 2048, 4096


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("models", nargs="*", type=pathlib.Path, metavar="MODEL.gguf")
    parser.add_argument("--sinter", required=True, type=pathlib.Path, metavar="BINDIR")
    parser.add_argument("--peer", required=True, type=pathlib.Path, metavar="BINDIR")
    parser.add_argument("--out", required=True, type=pathlib.Path, metavar="RESULTS.json")
    parser.add_argument("--random", action="store_true", help="add the random model")
    parser.add_argument("--types", nargs="+", choices=TYPES, default=list(TYPES))
    parser.add_argument("--threads", default=2, type=int)
    return parser.parse_args()


def random_matrix(source, shape, heavy):
    """Rows of their own deviation each, as trained ones have."""
    values = source.standard_t(4, shape) if heavy else source.standard_normal(shape)
    deviations = 0.02 * numpy.exp(0.3 * source.standard_normal((shape[0], 1)))
    return (values * deviations).astype(numpy.float16)


def write_random_model(path):
    source = numpy.random.default_rng(1)
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(LAYERS)
    writer.add_context_length(2048)
    writer.add_embedding_length(WIDTH)
    writer.add_feed_forward_length(8192)
    writer.add_head_count(32)
    writer.add_head_count_kv(8)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(VOCABULARY)
    writer.add_tensor("token_embd.weight", random_matrix(source, (VOCABULARY, WIDTH), True))
    writer.add_tensor("output_norm.weight", numpy.ones(WIDTH, numpy.float32))
    for layer in range(LAYERS):
        for norm in ("attn_norm", "ffn_norm"):
            writer.add_tensor(f"blk.{layer}.{norm}.weight", numpy.ones(WIDTH, numpy.float32))
        for name, shape in LLAMA_1B.items():
            writer.add_tensor(f"blk.{layer}.{name}.weight",
                              random_matrix(source, shape, heavy=layer == 1))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def run(command):
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False)
    if done.returncode:
        sys.exit(f"{command[0]} ended with {done.returncode}:\n"
                 + done.stdout.decode("utf-8", "replace")[-2000:])


def quantize(args, model, name, ours, theirs):
    run([args.sinter / "sinter", "quantize", model, "--type", name, "-o", ours,
         "--threads", args.threads])
    command = [args.peer / "llama-quantize", "--pure"]
    if name in BY_TENSOR:
        command += ["--tensor-type", f"weight={name.lower()}"]
    # By tensor, the file's own type is one that every row fits.
    file_type = "Q8_0" if name in BY_TENSOR else TYPES[name] or name
    run(command + [model, theirs, file_type, args.threads])


def matrices(path, name=None):
    """Readers of matrices by their name, those of one type only if one is given."""
    return {tensor.name: tensor for tensor in gguf.GGUFReader(path).tensors
            if len(tensor.shape) > 1 and (name is None or tensor.tensor_type.name == name)}


def decoded(tensor):
    return gguf.quants.dequantize(tensor.data, tensor.tensor_type).astype(numpy.float32).ravel()


def compare(model, name, ours, theirs):
    """Sums of squares over the matrices that both have in this type."""
    plain, sinter, peer = matrices(model), matrices(ours, name), matrices(theirs, name)
    squares, count, tensors = [0.0, 0.0], 0, 0
    for key in sorted(sinter.keys() & peer.keys()):
        values = decoded(plain[key])
        for side, file in enumerate((sinter, peer)):
            difference = (decoded(file[key]) - values).astype(numpy.float64)
            squares[side] += float(difference @ difference)
        count += values.size
        tensors += 1
    rms = [float(numpy.sqrt(square / count)) if count else None for square in squares]
    return {"tensors": tensors, "numbers": count, "sinter_rms": rms[0], "peer_rms": rms[1]}


def show(name, found):
    if not found["tensors"]:
        print(f"{name:8} no tensor has the type in both files")
        return
    ratio = found["sinter_rms"] / found["peer_rms"] if found["peer_rms"] else 1.0
    print(f"{name:8} {found['tensors']:4} tensors  rms {found['sinter_rms']:.4e} "
          f"peer {found['peer_rms']:.4e}  ratio {ratio:.4f}", flush=True)


def main():
    args = parse_arguments()
    results = {"models": {}}
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        models = list(args.models)
        if args.random:
            models.append(folder / "random_llama_1b_2_layers.gguf")
            write_random_model(models[-1])
        for model in models:
            print(model.stem)
            rows = results["models"][model.stem] = {}
            for name in args.types:
                ours, theirs = folder / "ours.gguf", folder / "theirs.gguf"
                quantize(args, model, name, ours, theirs)
                rows[name] = compare(model, name, ours, theirs)
                show(name, rows[name])
    args.out.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
