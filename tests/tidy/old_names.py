"""Names that this code no longer uses, each with the one that stands for the same thing now."""

import re

_PAIRS = """
Programs::Tasks TargetKind::Cpu; Programs::Threads TargetKind::Simt; programsOf TargetProfile::kind; targetKindOf TargetProfile::kind
ProductRules MatmulPrecision; RowBucket MBucket; kFewRows kSmallBucketRows; hasFewRows hasSmallM; few_rows small_m; Phase::Prompt Phase::Prefill; Phase::Generated Phase::Decode
promptSteps prefillSteps; generatedSteps decodeSteps; promptsFirst prefillFirst; planPrompts planPrefill
planGenerated planDecode; stopYoungest preemptYoungest; PromptShares PrefillShares
HeadGemm QkvGemm; headGemm qkvGemm; headSink qkvStore; head_sink qkv_epilogue; gemm_heads gemm_qkv
Sink EpilogueStore; BlockSink BlockStore; chooseRotations chooseRopeTable
KvWrite KvAppend; kvWrite kvAppend; kv_write kv_append; k_pool k_cache; v_pool v_cache
attention_spans attention_partitions; attention_join attention_combine; span_steps partition_steps
attentionSpans attentionPartitions; attentionJoin attentionCombine; spanSteps partitionSteps; spanKeys partitionKeys
kSpanKeys kPartitionKeys; OnlineSums OnlineSoftmax; blockQueries queryTile; block_queries query_tile
queryBlock queryTile; chooseQueryBlock chooseQueryTile
LaneLayout SimtLayout; LaneAccess SimtAccess; LaneFacts SimtFacts; LaneView SimtView; LaneBit LayoutBit
LaneTarget SimtTarget; LaneExtension SimtExtension; LanesAttr SimtLayoutAttr; LaneRing PipelineBuffer
DotLanes DotLayouts; scheduleForLanes scheduleSimt; assignLanes assignLayouts; sched.lanes sched.layout
RingOp MakePipelineOp; RingType PipelineType; RingReadOp StageReadOp; RingDotOp StageDotOp; RingPutOp StageStoreOp
RingAddOp StageAccumulateOp; FetchOp StageCopyOp; make_ring make_pipeline; ring_read stage_read; ring_dot stage_dot
ring_put stage_store; ring_add stage_accumulate; sched.fetch sched.stage_copy; sched.ring sched.pipeline
pipelineChains pipelineBackToBack; chainRows backToBackRows; chainThreads backToBackThreads
SumsReadOp AccReadOp; SumsClearOp AccClearOp; SumsAddOp AccAddOp; SumsTakeOp AccTakeOp; sums_read acc_read
sums_clear acc_clear; sums_add acc_add; sums_take acc_take; opaqueSums opaqueAccumulators
sharedSums sharedAccumulators; SumsInFlight AccumulatorsInFlight
DecodeOp DequantizeOp; tile.decode tile.dequantize; decodeRow dequantizeRow; BlockDecoder BlockDequantizer
sinterKernelDecode sinterKernelDequantize; decodesToBfloat besideQuantized; dequantizesToBfloat besideQuantized
roundActivations quantizeActivations; RoundedBlock QuantizedBlock; delayRounding delayQuantization
unroundedNorm unquantizedNorm; fetchAhead prefetch; aheadByRules prefetchByRules; apartInBanks padBanks
sideBySide rowInterleave; liesSideBySide isRowInterleaved
"""

NAMES = dict(pair.split() for pair in re.split(r"[;\n]", _PAIRS) if pair.strip())
# Kinds of files whose names these are.
KINDS = ("cpp", "td", "mlir", "tile", "cmake")
PATTERN = re.compile(r"(?<![\w$])(" + "|".join(sorted(map(re.escape, NAMES), key=len, reverse=True)) + r")(?!\w)")
