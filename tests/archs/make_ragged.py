#!/usr/bin/env python3
"""Adds two sequences beside the golden's own, with llama.cpp's logits of all three run together.

  make_ragged.py --peer PEER_LOGITS [--goldens FOLDER] [NAME...]

The three are of different lengths: all but the last 24 tokens of each are one batch, then each step
decodes one token of each. A golden gets two lines a sequence, instead of those that it has:
`beside TOKENS`, and `beside_logits POSITION ROW` at its end. Ends with 1 where llama.cpp's logits
differ from those that it gives each sequence alone, or from the golden's.
"""
import argparse
import sys
import tempfile
from pathlib import Path

import gguf_files
from check_goldens import DECODED, MOST_KL, divergence, read_golden
from compare import kl, peer_rows, without_images
from make_goldens import row_text

LENGTHS = (DECODED + 17, DECODED + 5)


def others(tokens):
    """Tokens of the golden in other orders, so that no two sequences share a beginning."""
    return [[tokens[(step * i + step) % len(tokens)] for i in range(length)]
            for step, length in zip((5, 11), LENGTHS)]


def together(peer, path, architecture, sequences):
    """Rows of logits of each sequence."""
    parts = [",".join(map(str, each[:-DECODED])) + "|" + ",".join(map(str, each[-DECODED:]))
             for each in sequences]
    rows = peer_rows(peer, path, sum(sequences, []), text=";".join(parts))
    rows = iter(without_images(architecture, row) for row in rows)
    return [[next(rows) for _ in each] for each in sequences]


def ragged_lines(peer, path, architecture, tokens, logits):
    """The golden's lines and the largest divergence of llama.cpp from itself."""
    sequences = [tokens, *others(tokens)]
    own, *beside = together(peer, path, architecture, sequences)
    worst = max(divergence(row, dict(enumerate(own[at]))) for at, row in logits.items())
    lines = []
    for each, rows in zip(sequences[1:], beside):
        alone = [without_images(architecture, row) for row in peer_rows(peer, path, each)]
        worst = max(worst, *map(kl, alone, rows))
        lines.append("beside " + " ".join(map(str, each)))
        lines.append(f"beside_logits {len(each) - 1} {row_text(rows[-1])}")
    return lines, worst


def add(peer, golden):
    keys, tensors, tokens, logits = read_golden(golden)
    architecture = next(value for key, _, value in keys if key == "general.architecture")
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "model.gguf"
        gguf_files.write_file(model, keys, tensors)
        lines, worst = ragged_lines(peer, str(model), architecture, tokens, logits)
    kept = [line for line in golden.read_text().splitlines() if not line.startswith("beside")]
    golden.write_text("\n".join(kept + lines) + "\n")
    return worst


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--peer", required=True)
    parser.add_argument("--goldens", type=Path,
                        default=Path(__file__).parent.parent / "data" / "architectures")
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    failures = 0
    for golden in sorted(arguments.goldens.glob("*.txt")):
        if not arguments.names or golden.stem in arguments.names:
            worst = add(arguments.peer, golden)
            failures += not worst <= MOST_KL
            print(f"{golden.stem:22} KL {worst:.1e} of llama.cpp from itself", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
