// Small chat templates that write calls of tools and thoughts as families of published models do.
#pragma once

#include <string>
#include <string_view>

namespace sinter {

struct ChatFamily {
  const char *name;
  // What a template writes around the calls of a message, and for each call `c`.
  const char *begin, *call, *end;
  const char *thought = "";             // for thoughts `t`
  const char *promptEnd = "";           // after the head of an answer that is asked for
  const char *after = "<|eot|>";        // a message
  const char *remark = "";              // somewhere in it
  const char *said = "{{ m.content }}"; // what an answer writes for its content
};

inline std::string templateOf(const ChatFamily &family) {
  return std::string("{#") + family.remark +
         "#}{% if tools %}{{ tools | tojson }}{% endif %}{% for m in messages %}<|head|>{{ m.role "
         "}}"
         "<|text|>{% set t = m.reasoning_content %}{% if t %}" +
         family.thought + "{% endif %}{% if m.role == 'assistant' %}" + family.said +
         "{% else %}{{ m.content }}{% endif %}{% if m.tool_calls %}" + family.begin +
         "{% for c in m.tool_calls %}" + family.call + "{% endfor %}" + family.end + "{% endif %}" +
         family.after +
         "{% endfor %}{% if add_generation_prompt %}<|head|>"
         "assistant<|text|>" +
         family.promptEnd + "{% endif %}";
}

inline constexpr const char *kThinkTags = "<think>\n{{ t }}\n</think>\n\n";

inline constexpr ChatFamily kChatFamilies[] = {
    {"Hermes", "",
     "{% if not loop.first %}{{ '\\n' }}{% endif %}<tool_call>\n{\"name\": \"{{ c.function.name "
     "}}\", "
     "\"arguments\": {{ c.function.arguments | tojson }}}\n</tool_call>",
     "", kThinkTags},
    {"QwenCoder", "",
     "{% if not loop.first %}{{ '\\n' }}{% endif %}<tool_call>\n<function={{ c.function.name }}>\n"
     "{% for k, v in c.function.arguments | items %}<parameter={{ k }}>\n"
     "{{ v if v is string else v | tojson }}\n</parameter>\n{% endfor %}</function>\n</tool_call>",
     "", kThinkTags, "<think>\n"},
    {"Glm", "",
     "\n<tool_call>{{ c.function.name }}\n{% for k, v in c.function.arguments | items %}<arg_key>"
     "{{ k }}</arg_key>\n<arg_value>{{ v if v is string else v | tojson }}</arg_value>\n"
     "{% endfor %}</tool_call>",
     "", "<think>{{ t }}</think>\n"},
    {"MiniMax", "<minimax:tool_call>\n",
     "<invoke name=\"{{ c.function.name }}\">\n{% for k, v in c.function.arguments | items %}"
     "<parameter name=\"{{ k }}\">{{ v if v is string else v | tojson }}</parameter>\n"
     "{% endfor %}</invoke>\n",
     "</minimax:tool_call>", kThinkTags, "<think>\n", "[e~[\n"},
    {"Dsml", "\n\n<｜DSML｜calls>\n",
     "<｜DSML｜invoke name=\"{{ c.function.name }}\">\n{% for k, v in c.function.arguments | items "
     "%}"
     "<｜DSML｜parameter name=\"{{ k }}\" string=\"{{ 'true' if v is string else 'false' }}\">"
     "{{ v if v is string else v | tojson }}</｜DSML｜parameter>\n{% endfor %}</｜DSML｜invoke>\n",
     "</｜DSML｜calls>"},
    {"Llama", "",
     "{% if m.tool_calls | length > 1 %}{{ raise_exception('one call') }}{% endif %}"
     "{\"name\": \"{{ c.function.name }}\", \"parameters\": {{ c.function.arguments | tojson }}}",
     ""},
    {"MistralList", "[TOOL_CALLS][",
     "{% if c.id | length != 9 %}{{ raise_exception('nine') }}{% endif %}{% if not loop.first %}, "
     "{% endif %}{\"name\": \"{{ c.function.name }}\", \"arguments\": "
     "{{ c.function.arguments | tojson }}, \"id\": \"{{ c.id }}\"}",
     "]"},
    {"MistralNamed", "",
     "{% if c.id | length != 9 %}{{ raise_exception('nine') }}{% endif %}[TOOL_CALLS]"
     "{{ c.function.name }}[CALL_ID]{{ c.id }}[ARGS]{{ c.function.arguments | tojson }}",
     "", "", "", "</s>", "[THINK] [/THINK]"},
    {"DeepSeek", "<｜tool▁calls▁begin｜>",
     "<｜tool▁call▁begin｜>{{ c.function.name }}<｜tool▁sep｜>"
     "{{ c.function.arguments | tojson }}<｜tool▁call▁end｜>",
     "<｜tool▁calls▁end｜>", "", "", "<｜end▁of▁sentence｜>", "</think>"},
    {"DeepSeekR1", "<｜tool▁calls▁begin｜>",
     "{% if not loop.first %}{{ '\\n' }}{% endif %}<｜tool▁call▁begin｜>function<｜tool▁sep｜>"
     "{{ c.function.name }}\n```json\n{{ c.function.arguments | tojson }}\n```<｜tool▁call▁end｜>",
     "<｜tool▁calls▁end｜>", "", "<think>\n", "<｜end▁of▁sentence｜>", "</think>"},
    {"Kimi", "<|calls_begin|>",
     "<|call_begin|>functions.{{ c.function.name }}:{{ loop.index0 }}<|argument_begin|>"
     "{{ c.function.arguments | tojson }}<|call_end|>",
     "<|calls_end|>"},
    {"Functionary", "",
     "<function={{ c.function.name }}>{{ c.function.arguments | tojson }}</function>", ""},
    {"CommandR", "<|START_ACTION|>[\n",
     "{% if not loop.first %},{{ '\\n' }}{% endif %}    {\"tool_call_id\": \"{{ loop.index0 }}\", "
     "\"tool_name\": \"{{ c.function.name }}\", \"parameters\": {{ c.function.arguments | tojson "
     "}}}",
     "\n]<|END_ACTION|>", "<|START_THINKING|>{{ t }}<|END_THINKING|>"},
    {"Apertus", "<|tools_prefix|>[",
     "{% if not loop.first %}, {% endif %}{\"{{ c.function.name }}\": "
     "{{ c.function.arguments | tojson }}}",
     "]<|tools_suffix|>"},
    {"Gemma", "",
     "<|tool_call>call:{{ c.function.name }}{{ '{' }}{% for k, v in c.function.arguments | items %}"
     "{{ k }}:{% if v is string %}<|\"|>{{ v }}<|\"|>{% else %}{{ v | tojson }}{% endif %}"
     "{% if not loop.last %},{% endif %}{% endfor %}{{ '}' }}<tool_call|>",
     "", "<|channel>thought\n{{ t }}<channel|>", "", "<turn|>\n"},
    // Calls in messages are not shown.
    {"Granite", "", "", "", "", "", "<|eot|>", "<|tool_call|>"},
    {"Phi", "", "", "", "", "", "<|end|>", "<|tool|> <|/tool|>"},
    {"SmolLm", "", "", "", "", "", "<|eot|>", "write <tool_call> </think>"},
    {"Channels", "", "", "", "", "", "<|end|>", "<|start|><|channel|><|message|>"},
    {"Plain", "", "", ""},
    // Its prompt ends with the mark that a call begins with, and so does what is said.
    {"Recipients", "", ">>>{{ c.function.name }}\n{{ c.function.arguments + '' }}", "", "", ">>>",
     "<|eot|>", "", "{% if m.content %}>>>all\n{{ m.content }}{% endif %}"},
    // What is said stands between marks of several tags, a call has its number, a value its type.
    {"Kimi3", "<|open|>tools<|sep|>",
     "<|open|>call tool=\"{{ c.function.name }}\" index=\"{{ loop.index }}\"<|sep|>"
     "{% for k, v in c.function.arguments | items %}<|open|>argument key=\"{{ k }}\" type=\""
     "{{ 'string' if v is string else 'number' if v is number else 'object' }}\"<|sep|>"
     "{{ v if v is string else v | tojson }}<|close|>argument<|sep|>{% endfor %}"
     "<|close|>call<|sep|>",
     "<|close|>tools<|sep|>", "", "<|open|>think<|sep|>", "<|close|>message<|sep|><|end_of_msg|>",
     "",
     "<|open|>think<|sep|>{{ t }}<|close|>think<|sep|>"
     "<|open|>response<|sep|>{{ m.content }}<|close|>response<|sep|>"},
    {"Elements", "]$[<tool_call>\n",
     "]$[<invoke name=\"{{ c.function.name }}\">{% for k, v in c.function.arguments | items %}"
     "]$[<{{ k }}>{{ v }}]$[</{{ k }}>{% endfor %}]$[</invoke>\n",
     "]$[</tool_call>", "<mm:think>{{ t }}</mm:think>"},
    {"Keywords", "<|tool_call_start|>[",
     "{% if not loop.first %}, {% endif %}{{ c.function.name }}({% for k, v in "
     "c.function.arguments | items %}{{ k }}={{ \"'\" ~ v ~ \"'\" if v is string else v }}"
     "{% if not loop.last %}, {% endif %}{% endfor %})",
     "]<|tool_call_end|>", "<think>{{ t }}</think>"},
    {"Answers", "<|START_ACTION|>[\n",
     "{% if not loop.first %},{{ '\\n' }}{% endif %}    {\"tool_call_id\": \"{{ loop.index0 }}\", "
     "\"tool_name\": \"{{ c.function.name }}\", \"parameters\": {{ c.function.arguments | tojson "
     "}}}",
     "\n]<|END_ACTION|>", "<|START_THINKING|>{{ t }}<|END_THINKING|>", "", "<|eot|>", "",
     "{% if m.content %}<|START_RESPONSE|>{{ m.content }}<|END_RESPONSE|>{% endif %}"},
    {"KeywordsUnseen", "", "", "", "", "", "<|eot|>", "List of tools: ["},
};

inline std::string templateOf(std::string_view name) {
  for (const ChatFamily &family : kChatFamilies)
    if (family.name == name)
      return templateOf(family);
  return "";
}

} // namespace sinter
