#include "cli/manual.h"

#include <stdlib.h>
#include <string.h>

/* Text as it is, in the language of manual pages. */
static void print_escaped(const char *text)
{
    bool is_line_start = true;
    for (const char *at = text; *at != '\0'; at++) {
        if (is_line_start && (*at == '.' || *at == '\'')) {
            (void)fputs("\\&", stdout); /* Not a request. */
        }
        if (*at == '\\') {
            (void)fputs("\\e", stdout);
        } else if (*at == '-') {
            (void)fputs("\\-", stdout); /* Not a hyphen, which could not be pasted. */
        } else {
            (void)fputc(*at, stdout);
        }
        is_line_start = *at == '\n';
    }
}

static void print_options(const struct command *command)
{
    char *text = NULL;
    size_t length = 0;
    FILE *file = open_memstream(&text, &length);
    if (file == NULL) {
        return;
    }
    arguments_print(&command->arguments, file);
    if (fclose(file) == 0) {
        print_escaped(text);
    }
    free(text);
}

void manual_print_page(const struct command *const *commands)
{
    (void)fputs(
        ".TH WEFT 1 \"\" \"weft " WEFT_VERSION "\"\n"
        ".SH NAME\nweft \\- schedule and serve workflows of ML models\n"
        ".SH SYNOPSIS\n.B weft\n.I COMMAND\n[arguments]\n"
        ".SH COMMANDS\n",
        stdout);
    for (uint32_t i = 0; commands[i] != NULL; i++) {
        const struct command *command = commands[i];
        (void)printf(".SS weft %s ", command->name);
        print_escaped(command->usage);
        (void)fputc('\n', stdout);
        print_escaped(command->summary);
        (void)fputs("\n.PP\n.nf\n", stdout);
        print_options(command);
        (void)fputs(".fi\n", stdout);
        if (command->description != NULL) {
            (void)fputs(".PP\n.nf\n", stdout);
            print_escaped(command->description);
            (void)fputs(".fi\n", stdout);
        }
    }
    (void)fputs(".SH EXIT STATUS\n0 ok; 1 the run failed; 2 bad usage or document\n", stdout);
}

void manual_print_bash(const struct command *const *commands)
{
    (void)fputs(
        "# Completion of weft: source it, or put it where bash-completion looks.\n"
        "_weft() {\n"
        "    local word=${COMP_WORDS[COMP_CWORD]} words=\n"
        "    case $COMP_CWORD:${COMP_WORDS[1]} in\n"
        "    1:*) words='",
        stdout);
    for (uint32_t i = 0; commands[i] != NULL; i++) {
        (void)printf("%s ", commands[i]->name);
    }
    (void)fputs("help --help --version';;\n", stdout);
    for (uint32_t i = 0; commands[i] != NULL; i++) {
        const struct argument *row = commands[i]->arguments.rows;
        (void)printf("    *:%s) words='", commands[i]->name);
        for (; row != NULL && row->name != NULL; row++) {
            (void)printf("%s ", row->name);
        }
        (void)fputs("--help';;\n", stdout);
    }
    (void)fputs(
        "    esac\n"
        "    COMPREPLY=()\n"
        "    if [[ $COMP_CWORD == 1 || $word == -* ]]; then\n"
        "        mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")\n"
        "    fi\n"
        "}\n"
        "complete -o default -F _weft weft build/weft\n",
        stdout);
}
