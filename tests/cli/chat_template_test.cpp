// Chat templates on the command line: what reaches them, what is refused.
#include "cli/cli_test.h"

namespace sinter {
namespace {

class ChatTemplateOptions : public CliTest {
protected:
  std::string modelOf(const std::string &source) {
    return writeModel("a.gguf", {.chatTemplate = source});
  }
  Outcome print(const std::string &model, std::vector<std::string> options,
                const std::string &messages = R"([{"role": "user", "content": "Hi"}])") {
    options.insert(options.begin(), {"chat-template", model});
    return sinter(options, messages);
  }
};

TEST_F(ChatTemplateOptions, PrintTheConversationThatIsGiven) {
  const std::string expected = "<|im_start|>user\nHi<|im_end|>\n";
  EXPECT_EQ(print(model_, {}).out, expected + "<|im_start|>assistant\n");
  EXPECT_EQ(print(model_, {"--no-generation-prompt"}).out, expected);
  const std::string file = write("m.json", R"([{"role": "user", "content": "Hi"}])");
  EXPECT_EQ(print(model_, {"--messages", file}, "").out, expected + "<|im_start|>assistant\n");
}

TEST_F(ChatTemplateOptions, ReachTheTemplate) {
  const std::string model = modelOf("{{ enable_thinking }} {{ reasoning_effort }} "
                                    "{{ tools[0].name }} {{ x }}");
  const std::string tools = write("tools.json", R"([{"name": "f"}])");
  EXPECT_EQ(print(model, {"--think", "off", "--reasoning-effort", "high", "--tools", tools,
                          "--template-arg", "x={\"a\": 1}"})
                .out,
            "False high f {'a': 1}");
}

TEST_F(ChatTemplateOptions, TakeAnotherTemplateByNameOrFile) {
  EXPECT_EQ(print(model_, {"--chat-template", "zephyr"}).out,
            "<|user|>\nHi<|im_end|>\n<|assistant|>\n");
  const std::string file = write("mine.jinja", "[{{ messages[0].content }}]");
  EXPECT_EQ(print(model_, {"--chat-template", file}).out, "[Hi]");
  EXPECT_EQ(print(writeModel("bare.gguf", {.chatTemplate = ""}), {"--chat-template", file}).out,
            "[Hi]");
}

TEST_F(ChatTemplateOptions, AreRefusedInOneSentence) {
  const std::string bad = write("bad.json", "{\"a\": ");
  EXPECT_THAT(print(model_, {"--think", "on"}), FailedSaying("no switch for thinking"));
  EXPECT_THAT(print(model_, {"--tools", bad}), FailedSaying("is no JSON"));
  EXPECT_THAT(print(model_, {"--tools", path("none.json")}), FailedSaying("none.json"));
  EXPECT_THAT(print(model_, {"--template-arg", "x=y"}), FailedSaying("a text needs quotes"));
  EXPECT_THAT(print(model_, {"--template-arg", "x=1"}), FailedSaying("does not read 'x'"));
  EXPECT_THAT(print(model_, {"--chat-template", "nosuch"}), FailedSaying("none of chatml"));
  EXPECT_THAT(print(model_, {}, "{}"), FailedSaying("the messages are no list"));
  EXPECT_THAT(print(model_, {}, "[1]"), FailedSaying("message 1 is no object with a role"));
  EXPECT_THAT(print(model_, {}, ""), FailedSaying("standard input: the text is no JSON"));
}

TEST_F(ChatTemplateOptions, RunAnswersWithThem) {
  const std::string bare = writeModel("bare.gguf", {.chatTemplate = ""});
  const std::vector<std::string> options = {"-p", "hi", "-n", "4", "--temp", "0"};
  std::vector<std::string> own = {"run", model_},
                           builtin = {"run", bare, "--chat-template", "chatml"};
  own.insert(own.end(), options.begin(), options.end());
  builtin.insert(builtin.end(), options.begin(), options.end());
  const Outcome outcome = sinter(builtin);
  EXPECT_THAT(outcome, EndedWith(0));
  EXPECT_EQ(outcome.out, sinter(own).out);
}

// The begin token is there once, whoever writes it: a prompt too long says how many tokens it has.
TEST_F(ChatTemplateOptions, TheBeginTokenIsNotDoubled) {
  for (const char *source :
       {"x{{ messages[0].content }}", "{{ bos_token }}x{{ messages[0].content }}"}) {
    const std::string model = writeModel("a.gguf", {.chatTemplate = source, .addsBos = true});
    EXPECT_THAT(sinter({"run", model, "-p", "hi", "--context", "1"}),
                FailedSaying("has 4 tokens, the context holds 1"))
        << source;
  }
}

TEST_F(ChatTemplateOptions, HostileTemplatesEndInOneError) {
  for (const char *source :
       {"{% for i in range(9) %}{{ 'x' * 99999999 }}{% endfor %}",
        "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "{{ 'x' * 99999999999 }}",
        "{{ messages.__class__.__mro__ }}"})
    EXPECT_THAT(print(modelOf(source), {}), FailedSaying("chat template: line 1, column"))
        << source;
}

} // namespace
} // namespace sinter
