/* The verb completion: scripts for shells, made from the verbs' table, and the names that they ask for. */
#include "base/alloc.h"
#include "cli/args.h"
#include "cli/out.h"
#include "client/client.h"

#include <string.h>

/* ---- what a verb's words are, by its synopsis ---- */

static const char *words_of(const struct verb *verb)
{
    static const struct {
        const char *in_synopsis, *kind;
    } kinds[] = {
        {"SRC", "places"},   {"NAME|DIR", "projects-folders"}, {"NAME", "projects"}, {"VERB", "verbs"},
        {"bash|", "shells"},
    };
    if (strncmp(verb->name, "template ", 9) == 0)
        return verb->max_args ? "templates" : "";
    for (size_t i = 0; i < countof(kinds) && verb->max_args; i++)
        if (strstr(verb->synopsis, kinds[i].in_synopsis))
            return kinds[i].kind;
    return "";
}

/* "template" of "template ls", "up" of "up"; caller frees. */
static char *first_word(const struct verb *verb)
{
    return xstrndup(verb->name, strcspn(verb->name, " "));
}

/* The second word, or NULL. */
static const char *second_word(const struct verb *verb)
{
    const char *blank = strchr(verb->name, ' ');
    return blank ? blank + 1 : NULL;
}

/* Whether a verb is the first of its collection in the table, or stands alone. */
static bool begins(const struct verb *const *verb)
{
    autofree char *word = first_word(*verb);
    for (const struct verb *const *other = verb_table; other != verb; other++) {
        autofree char *before = first_word(*other);
        if (strcmp(before, word) == 0)
            return false;
    }
    return true;
}

/* Text within single quotes: quote is what stands for one in it. */
static char *quoted(const char *text, const char *quote)
{
    struct buf out;
    buf_init(&out, 0);
    for (; *text; text++) {
        const char *piece = *text == '\'' ? quote : text;
        require(buf_append(&out, piece, *text == '\'' ? strlen(quote) : 1, NULL) == 0);
    }
    return buf_take_string(&out);
}

/* ---- bash ---- */

static void bash_verbs(void)
{
    out_text("_hutch_verbs='");
    for (const struct verb *const *verb = verb_table; *verb; verb++) {
        autofree char *word = first_word(*verb);
        if (begins(verb))
            out_text(" %s", word);
    }
    out_text("'\n_hutch_second() {\n    case $1 in\n");
    for (const struct verb *const *verb = verb_table; *verb; verb++) {
        autofree char *word = first_word(*verb);
        if (!second_word(*verb) || !begins(verb))
            continue;
        out_text("    %s) echo '", word);
        for (const struct verb *const *other = verb; *other; other++) {
            autofree char *same = first_word(*other);
            if (strcmp(same, word) == 0)
                out_text(" %s", second_word(*other));
        }
        out_text("' ;;\n");
    }
    out_text("    esac\n}\n");
}

/* For each verb: its options, those of them with a value, what its words are. */
static void bash_table(void)
{
    out_text("_hutch_verb() {\n    case $1 in\n");
    for (const struct verb *const *verb = verb_table; *verb; verb++) {
        out_text("    '%s')\n        options='--help", (*verb)->name);
        for (const struct option_spec *spec = (*verb)->options; spec && spec->name; spec++) {
            out_text(" --%s", spec->name);
            if (spec->letter)
                out_text(" -%c", spec->letter);
        }
        out_text("'\n        valued='");
        for (const struct option_spec *spec = (*verb)->options; spec && spec->name; spec++) {
            if (spec->value)
                out_text(" --%s", spec->name);
            if (spec->value && spec->letter)
                out_text(" -%c", spec->letter);
        }
        out_text("'\n        words='%s' ;;\n", words_of(*verb));
    }
    out_text("    esac\n}\n");
}

static const char bash_rest[] =
    "_hutch_words() {\n"
    "    case $1 in\n"
    "    projects | templates) hutch completion \"$1\" 2>/dev/null ;;\n"
    "    projects-folders) hutch completion projects 2>/dev/null; compgen -d -- \"$cur\" ;;\n"
    "    places) hutch completion projects 2>/dev/null | sed 's/$/:/'; compgen -f -- \"$cur\" ;;\n"
    "    verbs) echo \"$_hutch_verbs\" ;;\n"
    "    shells) echo bash zsh fish ;;\n"
    "    esac\n"
    "}\n"
    "_hutch() {\n"
    "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}\n"
    "    local verb=${COMP_WORDS[1]} seconds options='' valued='' words='' i IFS=$' \\t\\n'\n"
    "    COMPREPLY=()\n"
    "    if ((COMP_CWORD == 1)); then\n"
    "        COMPREPLY=($(compgen -W \"$_hutch_verbs --help --version\" -- \"$cur\"))\n"
    "        return\n"
    "    fi\n"
    "    seconds=$(_hutch_second \"$verb\")\n"
    "    if [[ $seconds ]]; then\n"
    "        if ((COMP_CWORD == 2)); then\n"
    "            COMPREPLY=($(compgen -W \"$seconds\" -- \"$cur\"))\n"
    "            return\n"
    "        fi\n"
    "        verb=\"$verb ${COMP_WORDS[2]}\"\n"
    "    fi\n"
    "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
    "        [[ ${COMP_WORDS[i]} == -- ]] && return\n"
    "    done\n"
    "    _hutch_verb \"$verb\"\n"
    "    if [[ \" $valued \" == *\" $prev \"* ]]; then\n"
    "        [[ $prev == --template || $prev == -t ]] && words=templates || return\n"
    "    elif [[ $cur == -* ]]; then\n"
    "        COMPREPLY=($(compgen -W \"$options\" -- \"$cur\"))\n"
    "        return\n"
    "    fi\n"
    "    COMPREPLY=($(compgen -W \"$(_hutch_words \"$words\")\" -- \"$cur\"))\n"
    "}\n"
    "complete -F _hutch hutch\n";

static void print_bash(void)
{
    out_text("# bash completion of hutch, made by: hutch completion bash\n# shellcheck shell=bash "
             "disable=SC2207\n");
    bash_verbs();
    bash_table();
    out_text("%s", bash_rest);
}

/* ---- zsh ---- */

/* A list of 'name:help' for _describe. second: of the collection that verb begins. */
static void zsh_verbs(void)
{
    out_text("    if (( CURRENT == 2 )); then\n        list=(\n");
    for (const struct verb *const *verb = verb_table; *verb; verb++) {
        autofree char *word = first_word(*verb);
        autofree char *help = quoted(second_word(*verb) ? "more verbs" : (*verb)->help, "'\\''");
        if (begins(verb))
            out_text("            '%s:%s'\n", word, help);
    }
    out_text("        )\n        _describe verb list\n        return\n    fi\n    verb=$words[2]\n    case "
             "$verb in\n");
    for (const struct verb *const *verb = verb_table; *verb; verb++) {
        autofree char *word = first_word(*verb);
        if (!second_word(*verb) || !begins(verb))
            continue;
        out_text("    %s)\n        list=(\n", word);
        for (const struct verb *const *other = verb; *other; other++) {
            autofree char *same = first_word(*other);
            autofree char *help = quoted((*other)->help, "'\\''");
            if (strcmp(same, word) == 0)
                out_text("            '%s:%s'\n", second_word(*other), help);
        }
        out_text("        )\n        if (( CURRENT == 3 )); then\n            _describe verb list\n"
                 "            return\n        fi\n        verb=\"$words[2] $words[3]\" ;;\n");
    }
    out_text("    esac\n");
}

static void zsh_table(void)
{
    out_text("    case $verb in\n");
    for (const struct verb *const *verb = verb_table; *verb; verb++) {
        out_text("    '%s')\n        kind='%s'\n        list=(\n            '--help:show the options'\n",
                 (*verb)->name, words_of(*verb));
        for (const struct option_spec *spec = (*verb)->options; spec && spec->name; spec++) {
            autofree char *help = quoted(spec->help, "'\\''");
            out_text("            '--%s:%s'\n", spec->name, help);
            if (spec->letter)
                out_text("            '-%c:%s'\n", spec->letter, help);
        }
        out_text("        )\n        valued='");
        for (const struct option_spec *spec = (*verb)->options; spec && spec->name; spec++) {
            if (spec->value)
                out_text(" --%s", spec->name);
            if (spec->value && spec->letter)
                out_text(" -%c", spec->letter);
        }
        out_text(" ' ;;\n");
    }
    out_text("    esac\n");
}

static const char zsh_rest[] =
    "    (( ${words[(I)--]} && ${words[(I)--]} < CURRENT )) && return\n"
    "    prev=$words[CURRENT-1]\n"
    "    if [[ $valued == *\" $prev \"* ]]; then\n"
    "        [[ $prev == --template || $prev == -t ]] || return\n"
    "        kind=templates\n"
    "    elif [[ $words[CURRENT] == -* ]]; then\n"
    "        _describe option list\n"
    "        return\n"
    "    fi\n"
    "    case $kind in\n"
    "    projects | templates) compadd -- ${(f)\"$(hutch completion $kind 2>/dev/null)\"} ;;\n"
    "    projects-folders) compadd -- ${(f)\"$(hutch completion projects 2>/dev/null)\"}; _files -/ ;;\n"
    "    places) compadd -S : -- ${(f)\"$(hutch completion projects 2>/dev/null)\"}; _files ;;\n"
    "    verbs) compadd -- $verbs ;;\n"
    "    shells) compadd -- bash zsh fish ;;\n"
    "    esac\n"
    "}\n"
    "_hutch \"$@\"\n";

static void print_zsh(void)
{
    out_text("#compdef hutch\n# zsh completion of hutch, made by: hutch completion zsh\n_hutch() {\n"
             "    local -a list verbs\n    local verb kind valued prev\n    verbs=(");
    for (const struct verb *const *verb = verb_table; *verb; verb++) {
        autofree char *word = first_word(*verb);
        if (begins(verb))
            out_text(" %s", word);
    }
    out_text(" )\n");
    zsh_verbs();
    zsh_table();
    out_text("%s", zsh_rest);
}

/* ---- fish ---- */

static const char fish_first[] = "# fish completion of hutch, made by: hutch completion fish\n"
                                 "function __hutch_is\n"
                                 "    set -l typed (commandline -opc)\n"
                                 "    contains -- -- $typed; and return 1\n"
                                 "    test \"$typed[2]\" = \"$argv[1]\"; or return 1\n"
                                 "    test (count $argv) -lt 2; or test \"$typed[3]\" = \"$argv[2]\"\n"
                                 "end\n"
                                 "function __hutch_words\n"
                                 "    test (count (commandline -opc)) -eq $argv[1]\n"
                                 "end\n"
                                 "complete -c hutch -f\n";

/* What the words of a kind are, as fish wants it. */
static const char *fish_words(const char *kind)
{
    static const char *const table[][2] = {
        {"projects", "-a '(hutch completion projects 2>/dev/null)'"},
        {"templates", "-a '(hutch completion templates 2>/dev/null)'"},
        {"projects-folders", "-a '(hutch completion projects 2>/dev/null; __fish_complete_directories)'"},
        {"places", "-F -a '(hutch completion projects 2>/dev/null)'"},
        {"verbs", "-a \"$__hutch_verbs\""},
        {"shells", "-a 'bash zsh fish'"},
    };
    for (size_t i = 0; i < countof(table); i++)
        if (strcmp(table[i][0], kind) == 0)
            return table[i][1];
    return NULL;
}

static void fish_verb(const struct verb *verb)
{
    const char *words = fish_words(words_of(verb));
    out_text("complete -c hutch -n '__hutch_is %s' -l help -d 'show the options'\n", verb->name);
    for (const struct option_spec *spec = verb->options; spec && spec->name; spec++) {
        autofree char *help = quoted(spec->help, "\\'");
        autofree char *letter = spec->letter ? xasprintf(" -s %c", spec->letter) : xstrdup("");
        const char *value = !spec->value ? ""
                            : strcmp(spec->value, "TEMPLATE") == 0
                                ? " -x -a '(hutch completion templates 2>/dev/null)'"
                                : " -x";
        out_text("complete -c hutch -n '__hutch_is %s' -l %s%s%s -d '%s'\n", verb->name, spec->name, letter,
                 value, help);
    }
    if (words)
        out_text("complete -c hutch -n '__hutch_is %s' %s\n", verb->name, words);
}

static void print_fish(void)
{
    out_text("%sset -g __hutch_verbs", fish_first);
    for (const struct verb *const *verb = verb_table; *verb; verb++) {
        autofree char *word = first_word(*verb);
        if (begins(verb))
            out_text(" %s", word);
    }
    out_text("\n");
    for (const struct verb *const *verb = verb_table; *verb; verb++) {
        autofree char *word = first_word(*verb);
        autofree char *help = quoted((*verb)->help, "\\'");
        if (begins(verb))
            out_text("complete -c hutch -n '__hutch_words 1' -a %s -d '%s'\n", word,
                     second_word(*verb) ? "more verbs" : help);
        if (second_word(*verb))
            out_text("complete -c hutch -n '__hutch_words 2; and __hutch_is %s' -a %s -d '%s'\n", word,
                     second_word(*verb), help);
    }
    for (const struct verb *const *verb = verb_table; *verb; verb++)
        fish_verb(*verb);
}

/* ---- names ---- */

static void print_name(json_t *object, void *user)
{
    autofree char *name = out_member(object, "name");
    if (*name)
        out_text("%s\n", name);
}

/* Nothing is started and nothing said for a key that was pressed in a shell. */
static void print_names(const char *path)
{
    auto(client) struct client *client = NULL;
    if (client_connect(false, &client, NULL) == 0)
        client_lines(client, "GET", path, NULL, print_name, NULL, NULL, NULL);
}

static void print_projects(void)
{
    print_names("/v1/projects");
}

static void print_templates(void)
{
    print_names("/v1/templates");
}

static int run_completion(const struct args *args, struct error **err)
{
    static const struct {
        const char *word;
        void (*print)(void);
    } table[] = {{"bash", print_bash},
                 {"zsh", print_zsh},
                 {"fish", print_fish},
                 {"projects", print_projects},
                 {"templates", print_templates}};
    for (size_t i = 0; i < countof(table); i++) {
        if (strcmp(args_word(args, 0), table[i].word) == 0) {
            table[i].print();
            return 0;
        }
    }
    error_set(err, ERROR_USAGE, "there is no completion for \"%s\"", args_word(args, 0));
    return error_hint(err, "bash, zsh or fish");
}

const struct verb verb_completion = {
    .name = "completion",
    .synopsis = "bash|zsh|fish|projects|templates",
    .help = "print a shell's completion, or the names that it asks for",
    .min_args = 1,
    .max_args = 1,
    .run = run_completion,
};
