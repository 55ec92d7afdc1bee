#!/usr/bin/env bash
# Builds the oracle of architectures in the folder that bench/peer/build_llama_cpp.sh made:
# llama.cpp's test-llama-archs, which writes a tiny file of each architecture, and peer_logits.
#
#   build_peer.sh OUTDIR
set -euo pipefail
if [[ $# -ne 1 || ! -d $1/src || ! -d $1/build/bin ]]; then
  echo "usage: $0 OUTDIR, made by bench/peer/build_llama_cpp.sh" >&2
  exit 2
fi
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
out=$(cd "$1" && pwd)
tree=$out/src/vendor/llama.cpp
bin=$out/build/bin
cxx=${CXX:-c++}
flags=(-std=c++17 -O2 -I "$tree/include" -I "$tree/ggml/include" -L "$bin" "-Wl,-rpath,$bin")
"$cxx" "${flags[@]}" "$here/peer_logits.cpp" -o "$bin/peer_logits" -lllama -lggml -lggml-base
"$cxx" "${flags[@]}" -I "$tree/common" -I "$tree/src" -I "$tree/vendor" \
  "$tree/tests/test-llama-archs.cpp" -o "$bin/test-llama-archs" \
  -lllama-common -lllama -lggml -lggml-base
