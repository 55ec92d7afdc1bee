// How the families of chat models write a conversation, each as a small template.
#include "llm/chat/builtin_templates.h"

namespace sinter {
namespace {

struct BuiltinTemplate {
  std::string_view name, source;
};

constexpr BuiltinTemplate kTemplates[] = {
    {"chatml", R"({%- for message in messages -%}
{{ '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>\n' }}
{%- endfor -%}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %})"},

    {"command-r", R"({{- bos_token -}}
{%- set names = {'system': 'SYSTEM', 'user': 'USER', 'assistant': 'CHATBOT'} -%}
{%- for message in messages -%}
{{ '<|START_OF_TURN_TOKEN|><|' + names[message.role] + '_TOKEN|>' + message.content | trim }}
{{- '<|END_OF_TURN_TOKEN|>' }}
{%- endfor -%}
{%- if add_generation_prompt %}{{ '<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>' }}{% endif %})"},

    {"deepseek", R"({{- bos_token -}}
{%- for message in messages -%}
{%- if message.role == 'system' -%}{{ message.content }}
{%- elif message.role == 'user' -%}{{ '<｜User｜>' + message.content }}
{%- else -%}{{ '<｜Assistant｜>' + message.content + '<｜end▁of▁sentence｜>' }}
{%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt %}{{ '<｜Assistant｜>' }}{% endif %})"},

    // It has no system role: what that says stands before the first message of the user.
    {"gemma", R"({{- bos_token -}}
{%- set ns = namespace(system='') -%}
{%- for message in messages -%}
{%- if message.role == 'system' -%}
{%- set ns.system = message.content | trim + '\n\n' -%}
{%- else -%}
{{ '<start_of_turn>' + ('model' if message.role == 'assistant' else 'user') + '\n' }}
{{- (ns.system if message.role == 'user' else '') + message.content | trim + '<end_of_turn>\n' }}
{%- if message.role == 'user' -%}{%- set ns.system = '' -%}{%- endif -%}
{%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt %}{{ '<start_of_turn>model\n' }}{% endif %})"},

    {"llama2", R"({%- set ns = namespace(system='') -%}
{%- for message in messages -%}
{%- if message.role == 'system' -%}
{%- set ns.system = '<<SYS>>\n' + message.content + '\n<</SYS>>\n\n' -%}
{%- elif message.role == 'user' -%}
{{ bos_token + '[INST] ' + ns.system + message.content | trim + ' [/INST]' }}
{%- set ns.system = '' -%}
{%- else -%}
{{ ' ' + message.content | trim + ' ' + eos_token }}
{%- endif -%}
{%- endfor -%})"},

    {"llama3", R"({{- bos_token -}}
{%- for message in messages -%}
{{ '<|start_header_id|>' + message.role + '<|end_header_id|>\n\n' + message.content | trim }}
{{- '<|eot_id|>' }}
{%- endfor -%}
{%- if add_generation_prompt -%}
{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}
{%- endif %})"},

    {"mistral", R"({{- bos_token -}}
{%- set ns = namespace(system='') -%}
{%- for message in messages -%}
{%- if message.role == 'system' -%}
{%- set ns.system = message.content + '\n\n' -%}
{%- elif message.role == 'user' -%}
{{ '[INST] ' + ns.system + message.content + ' [/INST]' }}
{%- set ns.system = '' -%}
{%- else -%}
{{ ' ' + message.content | trim + eos_token }}
{%- endif -%}
{%- endfor -%})"},

    {"phi3", R"({%- for message in messages -%}
{{ '<|' + message.role + '|>\n' + message.content + '<|end|>\n' }}
{%- endfor -%}
{%- if add_generation_prompt %}{{ '<|assistant|>\n' }}{% endif %})"},

    {"vicuna", R"({%- set ns = namespace(next='') -%}
{%- for message in messages -%}
{%- if message.role == 'system' -%}{{ message.content | trim }}
{%- elif message.role == 'user' -%}{{ ns.next + 'USER: ' + message.content | trim }}
{%- else -%}{{ ' ASSISTANT: ' + message.content | trim + eos_token }}
{%- endif -%}
{%- set ns.next = '' if message.role == 'assistant' else ' ' -%}
{%- endfor -%}
{%- if add_generation_prompt %}{{ ' ASSISTANT:' }}{% endif %})"},

    {"zephyr", R"({%- for message in messages -%}
{{ '<|' + message.role + '|>\n' + message.content + eos_token + '\n' }}
{%- endfor -%}
{%- if add_generation_prompt %}{{ '<|assistant|>\n' }}{% endif %})"},
};

} // namespace

std::string_view builtinTemplate(std::string_view name) {
  for (const BuiltinTemplate &one : kTemplates)
    if (one.name == name)
      return one.source;
  return "";
}

std::string builtinTemplateNames() {
  std::string names;
  for (const BuiltinTemplate &one : kTemplates)
    names += (names.empty() ? "" : ", ") + std::string(one.name);
  return names;
}

} // namespace sinter
