// The table of known pre-tokenizers.
#include "llm/tokenizer/pretokenizer_table.h"

#include <algorithm>

namespace sinter {
namespace {

using Text = std::string_view;
using Flags = PretokenizerFlags;

constexpr Flags kKeepsSpaces = {.cleansSpaces = false};

constexpr Text kGpt2Words =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

constexpr Text kGpt2Names[] = {"gpt-2",      "phi-2",      "jina-es", "jina-de", "gigachat",
                               "jina-v2-es", "jina-v2-de", "a.x-4.0", "mellum",  "modern-bert",
                               "mpt",        "olmo",       "jais",    "exaone4"};
constexpr Text kTrillionNames[] = {"trillion", "granite-docling"};
constexpr Text kRobertaNames[] = {"jina-v1-en", "jina-v2-code", "roberta-bpe"};
constexpr FamilySplit kGpt2[] = {{kGpt2Words}};

// GPT-2's words with every digit on its own.
constexpr Text kDigitwiseNames[] = {"starcoder", "refact",     "codeshell",
                                    "exaone",    "minerva-7b", "mellum2"};
constexpr Text kSmolLmNames[] = {"smollm", "command-r"};
constexpr FamilySplit kDigitwise[] = {{R"(\p{N})"}, {kGpt2Words}};

// What converters write for a tokenizer that they did not recognise, and what counts for a file
// that names none.
constexpr Text kDefaultNames[] = {"default"};
constexpr FamilySplit kDefault[] = {
    {R"([\p{P}$+<=>^~|]+)"}, {kGpt2Words}, {R"(\p{N}+)"}, {"[0-9][0-9][0-9]"}};

constexpr Text kFalconNames[] = {"falcon"};
constexpr FamilySplit kFalcon[] = {{R"([\p{P}$+<=>^~|`]+)"}, {kGpt2Words}, {"[0-9][0-9][0-9]"}};

constexpr Text kLlama3Words =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*)"
    R"(|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr Text kLlama3Names[] = {"llama-bpe", "llama3",   "llama-v3", "falcon3",     "falcon-h1",
                                 "pixtral",   "midm-2.0", "lfm2",     "jina-v5-nano"};
constexpr Text kDbrxNames[] = {"dbrx", "smaug-bpe", "chatglm-bpe"};
constexpr Text kGlm4Names[] = {"glm4", "glm5"};
constexpr FamilySplit kLlama3[] = {{kLlama3Words}};

// Llama 3's words, but white space goes in runs whose lengths are powers of two.
constexpr Text kJais2Names[] = {"jais-2"};
constexpr FamilySplit kJais2[] = {
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*)"
     R"(|\s*[\r\n]+|\s{512}(?!\S)|\s{256}(?!\S)|\s{128}(?!\S)|\s{64}(?!\S)|\s{32}(?!\S))"
     R"(|\s{16}(?!\S)|\s{8}(?!\S)|\s{4}(?!\S)|\s{1,2}(?!\S)|\s{1})"}};

constexpr Text kMiniCpm5Names[] = {"minicpm5"};
constexpr FamilySplit kMiniCpm5[] = {
    {R"(\p{N}{1,3})"},
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}+| ?[^\s\p{L}\p{N}]+[\r\n]*)"
     R"(|\s*[\r\n]+|\s+(?!\S)|\s+)"}};

constexpr Text kQwen2Words =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*)"
    R"(|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr Text kQwen2Names[] = {"qwen2",   "deepseek-r1-qwen", "kormo",     "f2llmv2",
                                "hunyuan", "grok-2",           "solar-open"};
constexpr Text kStableLm2Names[] = {"stablelm2", "megrez"};
constexpr FamilySplit kQwen2[] = {{kQwen2Words}};

// Each run of newlines on its own, then Qwen 2's words.
constexpr Text kLagunaNames[] = {"laguna"};
constexpr FamilySplit kLaguna[] = {{R"([^\n]+|\n+)"}, {kQwen2Words}};

// Qwen 2's words without contractions: suffixes of Turkish follow an apostrophe.
constexpr Text kUfakZekaNames[] = {"ufakzeka"};
constexpr FamilySplit kUfakZeka[] = {
    {R"([^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"}};

constexpr Text kQwen35Names[] = {"qwen35"};
constexpr FamilySplit kQwen35[] = {
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+)"
     R"([\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"}};

constexpr Text kSeedCoderNames[] = {"seed-coder"};
constexpr FamilySplit kSeedCoder[] = {
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+)"
     R"(|\s*[\r\n]+|\s+(?!\S)|\s+)"}};

constexpr Text kBailingNames[] = {"bailingmoe", "bailingmoe2", "llada-moe"};
constexpr FamilySplit kBailing[] = {
    {R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n])"
     R"(|\s+(?!\S)|\s+)"}};

// Letters that follow one another, with single spaces between, are one word. The possessive repeat
// matches what the published nested one does and keeps no state for each letter.
constexpr Text kExaoneMoeNames[] = {"exaone-moe"};
constexpr FamilySplit kExaoneMoe[] = {
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}(?:\p{M}++| ?\p{L})*+|\p{N})"
     R"(| ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+)"}};

// The letters of alphabets that have case.
constexpr Text kDeepSeekLetters =
    R"(\s?[A-Za-z\x{00B5}\x{00C0}-\x{00D6}\x{00D8}-\x{00F6}\x{00F8}-\x{01BA})"
    R"(\x{01BC}-\x{01BF}\x{01C4}-\x{0293}\x{0295}-\x{02AF}\x{0370}-\x{0373}\x{0376}\x{0377})"
    R"(\x{037B}-\x{037D}\x{037F}\x{0386}\x{0388}-\x{038A}\x{038C}\x{038E}-\x{03A1})"
    R"(\x{03A3}-\x{03F5}\x{03F7}-\x{0481}\x{048A}-\x{052F}\x{0531}-\x{0556})"
    R"(\x{10A0}-\x{10C5}\x{13A0}-\x{13F5}\x{13F8}-\x{13FD}\x{1C90}-\x{1CBA})"
    R"(\x{1CBD}-\x{1CBF}\x{1D00}-\x{1D2B}\x{1D6B}-\x{1D77}\x{1D79}-\x{1D9A})"
    R"(\x{1E00}-\x{1F15}\x{1F18}-\x{1F1D}\x{1F20}-\x{1F45}\x{1F48}-\x{1F4D})"
    R"(\x{1F50}-\x{1F57}\x{1F59}\x{1F5B}\x{1F5D}\x{1F5F}-\x{1F7D}\x{1F80}-\x{1FB4})"
    R"(\x{1FB6}-\x{1FBC}\x{1FBE}\x{1FC2}-\x{1FC4}\x{1FC6}-\x{1FCC}\x{1FD0}-\x{1FD3})"
    R"(\x{1FD6}-\x{1FDB}\x{1FE0}-\x{1FEC}\x{1FF2}-\x{1FF4}\x{1FF6}-\x{1FFC}\x{2102}\x{2107})"
    R"(\x{210A}-\x{2113}\x{2115}\x{2119}-\x{211D}\x{2124}\x{2126}\x{2128}\x{212A}-\x{212D})"
    R"(\x{212F}-\x{2134}\x{2139}\x{213C}-\x{213F}\x{2145}-\x{2149}\x{214E}\x{2183}\x{2184})"
    R"(\x{2C00}-\x{2C7B}\x{2C7E}-\x{2CE4}\x{2CEB}-\x{2CEE}\x{2CF2}\x{2CF3}\x{A640}-\x{A66D})"
    R"(\x{A680}-\x{A69B}\x{A722}-\x{A76F}\x{A771}-\x{A787}\x{A78B}-\x{A78E})"
    R"(\x{AB70}-\x{ABBF}\x{FB00}-\x{FB06}\x{FB13}-\x{FB17}\x{FF21}-\x{FF3A})"
    R"(\x{FF41}-\x{FF5A}\x{10400}-\x{1044F}\x{104B0}-\x{104D3}\x{104D8}-\x{104FB})"
    R"(\x{10C80}-\x{10CB2}\x{10CC0}-\x{10CF2}\x{118A0}-\x{118DF}\x{1E900}-\x{1E943}]+)";
constexpr Text kDeepSeekPunctuation =
    R"(\s?[!-/:-~\x{FF01}-\x{FF0F}\x{FF1A}-\x{FF5E}\x{2018}-\x{201F}\x{3000}-\x{3002}]+)";
constexpr Text kDeepSeekCjk = R"([\x{4E00}-\x{9FA5}\x{0800}-\x{4E00}\x{AC00}-\x{D7FF}]+)";
constexpr Text kDeepSeekLlmNames[] = {"deepseek-llm"};
constexpr FamilySplit kDeepSeekLlm[] = {{R"([\r\n])"},
                                        {kDeepSeekLetters},
                                        {kDeepSeekPunctuation},
                                        // A match can only begin where a run of spaces does.
                                        {R"((?<!\s)\s+\z)"},
                                        {kDeepSeekCjk},
                                        {R"(\p{N}+)"}};

constexpr Text kDeepSeekCoderNames[] = {"deepseek-coder"};
constexpr FamilySplit kDeepSeekCoder[] = {
    {R"([\r\n])"}, {R"(\s?\p{L}+)"}, {R"(\s?\p{P}+)"}, {kDeepSeekCjk}, {R"(\p{N})"}};

constexpr Text kDeepSeek3Kana = R"([\x{4E00}-\x{9FA5}\x{3040}-\x{309F}\x{30A0}-\x{30FF}]+)";
constexpr Text kDeepSeek3Words =
    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+)"
    R"(| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr Text kDeepSeek3Names[] = {"deepseek-v3", "hunyuan-dense", "joyai-llm", "hy_v4"};
constexpr FamilySplit kDeepSeek3[] = {{R"(\p{N}{1,3})"}, {kDeepSeek3Kana}, {kDeepSeek3Words}};

constexpr Text kSparkNames[] = {"spark2_5"};
constexpr FamilySplit kSpark[] = {
    {R"(\p{N}{1,3})"},
    {kDeepSeek3Kana},
    {R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+)"
     R"(| ?[\p{P}\p{S}]+|[\r\n]|\s+(?!\S)|\s+)"},
    {R"(\p{N})"}};

// The scripts of East Asia, then DeepSeek V3's words. Numbers are words of their own; llama.cpp
// splits the text before a number together with its first digits, so "a  12" there has the words
// "a", " ", " " and "12".
constexpr Text kAfmoeScripts =
    R"([\x{4E00}-\x{9FFF}\x{3400}-\x{4DBF}\x{8C48}-\x{FAFF}\x{3040}-\x{309F})"
    R"(\x{30A0}-\x{30FF}\x{FF65}-\x{FF9F}\x{2F00}-\x{2FDF}\x{0E40}-\x{0E7F})"
    R"(\x{0E80}-\x{0EFF}\x{1780}-\x{17FF}\x{1000}-\x{109F}\x{AA60}-\x{AA7F})"
    R"(\x{A9E0}-\x{A9FF}\x{AC00}-\x{D7AF}\x{1100}-\x{11FF}]+)";
constexpr Text kAfmoeNames[] = {"afmoe"};
constexpr FamilySplit kAfmoe[] = {
    {"", SplitKind::DigitsByThrees}, {kAfmoeScripts}, {kDeepSeek3Words}};

// GPT-4o's words, cut where lower case goes over into upper case.
constexpr Text kGpt4oWords =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)"
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr Text kGpt4oNames[] = {"gpt-4o", "llama4", "kanana2", "talkie", "minimax-m2"};
constexpr Text kGraniteNames[] = {"granite-embed-multi-97m"};
constexpr FamilySplit kGpt4o[] = {{kGpt4oWords}};
constexpr Text kTinyAyaNames[] = {"tiny_aya", "cohere2moe"};
constexpr FamilySplit kTinyAya[] = {{"", SplitKind::DigitsByThreesAtWordBorder}, {kGpt4oWords}};

// The scripts of East Asia and their punctuation, then GPT-4o's words with every digit on its own.
constexpr Text kYoutuScripts =
    R"([\x{AC00}-\x{D7A3}\x{3131}-\x{318E}]+|[\x{FF01}\x{2026}\x{201C}\x{201D}\x{2018})"
    R"(\x{2019}\x{2014}\x{FF1A}\x{FF1B}\x{FF0C}\x{3001}-\x{303F}\x{FE30}-\x{FE4F}]+|[)"
    R"(\x{3105}-\x{312F}]+|[\x{4E00}-\x{9FA5}\x{3040}-\x{309F}\x{30A0}-\x{30FF}]+)";
constexpr Text kYoutuNames[] = {"youtu"};
constexpr FamilySplit kYoutu[] = {
    {kYoutuScripts},
    {R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
     R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
     R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)"
     R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
     R"(|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)"}};

// GPT-4o's words, but Chinese characters stay apart from other letters. A negated class is the
// published intersection of letters with all that is not Han.
constexpr Text kKimiNames[] = {"kimi-k2"};
constexpr FamilySplit kKimi[] = {
    {R"(\p{sc:Han}+)"
     R"(|[^\r\n\p{L}\p{N}]?[^\p{sc:Han}\p{Ll}\p{N}\p{P}\p{S}\p{Z}\p{C}]*)"
     R"([^\p{sc:Han}\p{Lu}\p{Lt}\p{N}\p{P}\p{S}\p{Z}\p{C}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
     R"(|[^\r\n\p{L}\p{N}]?[^\p{sc:Han}\p{Ll}\p{N}\p{P}\p{S}\p{Z}\p{C}]+)"
     R"([^\p{sc:Han}\p{Lu}\p{Lt}\p{N}\p{P}\p{S}\p{Z}\p{C}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
     R"(|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"}};

constexpr Text kTekkenNames[] = {"tekken"};
constexpr FamilySplit kTekken[] = {
    {R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
     R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)"
     R"(|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)"}};

// A word is what lies between the punctuation of a few languages. The bracket and the bar belong to
// the class, as published.
constexpr Text kPoroWords =
    R"( ?[^(\s|.,!?\x{2026}\x{3002}\x{FF0C}\x{3001}\x{0964}\x{06D4}\x{060C})]+)";
constexpr Text kPoroNames[] = {"poro-chat"};
constexpr Text kBloomNames[] = {"bloom", "gpt3-finnish"};
constexpr FamilySplit kPoro[] = {{kPoroWords}};
constexpr Text kVikingNames[] = {"viking"};
constexpr FamilySplit kViking[] = {{kPoroWords}, {R"(\p{N})"}};

constexpr Text kChameleonNames[] = {"chameleon"};
constexpr FamilySplit kChameleon[] = {
    {"<sentinel:[0-9]+>"},       {R"((IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z)"},
    {R"(([\t\n]|    |  ))"},     {R"(\p{N})"},
    {R"([\p{P}!-/:-@\[-`{-~])"}, {kGpt2Words}};

// Numbers in threes and nothing else: words of this tokenizer run across spaces.
constexpr Text kSuperBpeNames[] = {"superbpe"};
constexpr FamilySplit kSuperBpe[] = {{R"(\p{N}+)"}, {"", SplitKind::DigitsByThrees}};

// Tokens in UTF-8, whose merges run across whole lines.
constexpr Text kGemma4Names[] = {"gemma4", "granite-embed-multi-311m"};
constexpr Text kSarvamNames[] = {"sarvam-moe"};
constexpr FamilySplit kLines[] = {{R"([^\n]+|\n+)"}};
constexpr Text kWhitespaceNames[] = {"whitespace"};
constexpr FamilySplit kWhitespace[] = {{R"(\S+)"}};

constexpr PretokenizerFamily kFamilies[] = {
    {kGpt2Names, kGpt2},
    {kTrillionNames, kGpt2, kKeepsSpaces},
    {kRobertaNames, kGpt2, {.addsSeparator = true}},
    {kDigitwiseNames, kDigitwise},
    {kSmolLmNames, kDigitwise, kKeepsSpaces},
    {kDefaultNames, kDefault},
    {kFalconNames, kFalcon},
    {kLlama3Names, kLlama3, {.ignoresMerges = true, .addsBos = true}},
    {kDbrxNames, kLlama3},
    {kGlm4Names, kLlama3, {.ignoresMerges = true}},
    {kJais2Names, kJais2},
    {kMiniCpm5Names, kMiniCpm5, {.ignoresMerges = true}},
    {kQwen2Names, kQwen2, kKeepsSpaces},
    {kStableLm2Names, kQwen2},
    {kLagunaNames, kLaguna, kKeepsSpaces},
    {kUfakZekaNames, kUfakZeka, kKeepsSpaces},
    {kQwen35Names, kQwen35, kKeepsSpaces},
    {kSeedCoderNames, kSeedCoder, kKeepsSpaces},
    {kBailingNames, kBailing, kKeepsSpaces},
    {kExaoneMoeNames, kExaoneMoe},
    {kDeepSeekLlmNames, kDeepSeekLlm, kKeepsSpaces},
    {kDeepSeekCoderNames, kDeepSeekCoder, kKeepsSpaces},
    {kDeepSeek3Names, kDeepSeek3, kKeepsSpaces},
    {kSparkNames, kSpark, kKeepsSpaces},
    {kAfmoeNames, kAfmoe, kKeepsSpaces},
    {kGpt4oNames, kGpt4o, kKeepsSpaces},
    {kGraniteNames, kGpt4o, {.ignoresMerges = true, .cleansSpaces = false}},
    {kTinyAyaNames, kTinyAya, kKeepsSpaces},
    {kYoutuNames, kYoutu, {.ignoresMerges = true, .cleansSpaces = false}},
    {kKimiNames, kKimi, {.cleansSpaces = false, .needsNoMerges = true}},
    {kTekkenNames, kTekken, {.ignoresMerges = true, .addsBos = true, .cleansSpaces = false}},
    {kPoroNames, kPoro, kKeepsSpaces},
    {kBloomNames, kPoro},
    {kVikingNames, kViking, kKeepsSpaces},
    {kChameleonNames, kChameleon, {.addsBos = true, .cleansSpaces = false}},
    {kSuperBpeNames, kSuperBpe, kKeepsSpaces},
    {kGemma4Names,
     kLines,
     {.alwaysAddsBos = true, .rawUtf8 = true, .escapesSpaces = true, .takesNewlines = true}},
    {kSarvamNames, kLines, {.cleansSpaces = false, .rawUtf8 = true, .escapesSpaces = true}},
    {kWhitespaceNames, kWhitespace, {.rawUtf8 = true}},
};

constexpr TokenizerKind kKinds[] = {
    {.name = "gpt2", .model = ModelKind::MergeRanks, .hasPretokenizer = true},
    {.name = "gemma4", .model = ModelKind::MergeRanks, .hasPretokenizer = true, .pre = "gemma4"},
    {.name = "whitespace", .model = ModelKind::MergeRanks, .hasPretokenizer = true},
    {.name = "llama",
     .model = ModelKind::MergeScores,
     .addsBos = true,
     .addsSpacePrefix = true,
     .bos = 1,
     .eos = 2,
     .unknown = 0},
    {.name = "bert",
     .model = ModelKind::WordPiece,
     .addsBos = true,
     .bos = 101,
     .unknown = 100,
     .separator = 102},
    {.name = "t5", .model = ModelKind::Unigram, .addsEos = true, .eos = 1, .unknown = 2},
    {.name = "rwkv", .model = ModelKind::LongestMatch},
    {.name = "plamo2", .model = ModelKind::Plamo2, .bos = 1, .eos = 2, .unknown = 0},
    {.name = "none", .model = ModelKind::None},
    {.name = "no_vocab", .model = ModelKind::None},
};

constexpr Text kJinaV2[] = {"jina-v2-de", "jina-v2-es", "jina-v2-code"};
constexpr Text kMaskedArchitectures[] = {"nomic-bert-moe", "jina-bert-v3"};
constexpr Text kPhi3[] = {"phi-3", "phi3"};
constexpr Text kPhi3Keeps[] = {"<unk>", "<s>", "<|endoftext|>"};
constexpr Text kModernBert[] = {"modern-bert"};

constexpr StripRule kStripRules[] = {
    {StripRule::Field::Pretokenizer, kJinaV2, "<mask>", {}, ""},
    {StripRule::Field::Architecture, kMaskedArchitectures, "<mask>", {}, ""},
    {StripRule::Field::ModelName, kPhi3, "", kPhi3Keeps, "</s>"},
    {StripRule::Field::ModelName, kModernBert, "[MASK]", {}, ""},
};

} // namespace

std::span<const StripRule> stripRules() {
  return kStripRules;
}

std::span<const PretokenizerFamily> pretokenizerFamilies() {
  return kFamilies;
}

const PretokenizerFamily *findPretokenizer(std::string_view name) {
  for (const PretokenizerFamily &family : kFamilies)
    if (std::ranges::find(family.names, name) != family.names.end())
      return &family;
  return nullptr;
}

std::span<const TokenizerKind> tokenizerKinds() {
  return kKinds;
}

} // namespace sinter
