// The table of known pre-tokenizers.
#include "llm/tokenizer/pretokenizer_table.h"

namespace sinter {
namespace {

using Text = std::string_view;

constexpr Text kGpt2Words =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

constexpr Text kGpt2Names[] = {"gpt-2",   "phi-2",   "mpt",      "olmo",           "jais",
                               "jina-es", "jina-de", "gigachat", "exaone4",        "modern-bert",
                               "mellum",  "a.x-4.0", "trillion", "granite-docling"};
constexpr Text kGpt2[] = {kGpt2Words};

// GPT-2's words with every digit on its own.
constexpr Text kDigitwiseNames[] = {"smollm",    "starcoder", "refact",     "command-r",
                                    "codeshell", "exaone",    "minerva-7b", "mellum2"};
constexpr Text kDigitwise[] = {R"(\p{N})", kGpt2Words};

// What converters write for a tokenizer that they did not recognise.
constexpr Text kDefaultNames[] = {"default"};
constexpr Text kDefault[] = {R"([\p{P}$+<=>^~|]+)", kGpt2Words, R"(\p{N}+)", "[0-9][0-9][0-9]"};

constexpr Text kFalconNames[] = {"falcon"};
constexpr Text kFalcon[] = {R"([\p{P}$+<=>^~|`]+)", kGpt2Words, "[0-9][0-9][0-9]"};

constexpr Text kLlama3Words =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*)"
    R"(|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr Text kLlama3Names[] = {"llama-bpe", "llama3",  "llama-v3", "falcon3",
                                 "falcon-h1", "pixtral", "midm-2.0", "lfm2"};
constexpr Text kDbrxNames[] = {"dbrx", "smaug-bpe"};
constexpr Text kGlm4Names[] = {"glm4"};
constexpr Text kLlama3[] = {kLlama3Words};

constexpr Text kQwen2Names[] = {"qwen2",  "deepseek-r1-qwen", "stablelm2",
                                "megrez", "hunyuan",          "solar-open"};
constexpr Text kQwen2[] = {
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*)"
    R"(|\s*[\r\n]+|\s+(?!\S)|\s+)"};

constexpr Text kQwen35Names[] = {"qwen35"};
constexpr Text kQwen35[] = {
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+)"
    R"([\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"};

constexpr Text kDeepSeekCoderNames[] = {"deepseek-coder"};
constexpr Text kDeepSeekCoder[] = {R"([\r\n])", R"(\s?\p{L}+)", R"(\s?\p{P}+)",
                                   R"([\x{4E00}-\x{9FA5}\x{0800}-\x{4E00}\x{AC00}-\x{D7FF}]+)",
                                   R"(\p{N})"};

constexpr Text kDeepSeek3Names[] = {"deepseek-v3", "hunyuan-dense", "joyai-llm"};
constexpr Text kDeepSeek3[] = {
    R"(\p{N}{1,3})", R"([\x{4E00}-\x{9FA5}\x{3040}-\x{309F}\x{30A0}-\x{30FF}]+)",
    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+)"
    R"(| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"};

// GPT-4o's words, cut where lower case goes over into upper case.
constexpr Text kGpt4oNames[] = {"gpt-4o", "llama4", "kanana2"};
constexpr Text kGpt4o[] = {
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)"
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)"};

constexpr Text kTekkenNames[] = {"tekken"};
constexpr Text kTekken[] = {
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
    R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)"
    R"(|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)"};

constexpr PretokenizerFamily kFamilies[] = {
    {kGpt2Names, kGpt2},
    {kDigitwiseNames, kDigitwise},
    {kDefaultNames, kDefault},
    {kFalconNames, kFalcon},
    {kLlama3Names, kLlama3, true, true},
    {kDbrxNames, kLlama3},
    {kGlm4Names, kLlama3, true},
    {kQwen2Names, kQwen2},
    {kQwen35Names, kQwen35},
    {kDeepSeekCoderNames, kDeepSeekCoder},
    {kDeepSeek3Names, kDeepSeek3},
    {kGpt4oNames, kGpt4o},
    {kTekkenNames, kTekken, true, true},
};

} // namespace

std::span<const PretokenizerFamily> pretokenizerFamilies() {
  return kFamilies;
}

} // namespace sinter
