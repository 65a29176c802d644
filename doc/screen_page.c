/* hutch-screen.1 from its head and the tables of ui/: screen_page HEAD >PAGE. A line @NAME@ of the head
 * becomes the table of that name. */
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

enum action {
#define X(id, name, label, help, weight, twin) ACTION_##id,
#include "ui/actions.def"
#undef X
    ACTION_COUNT
};
static const struct {
    const char *name, *help, *weight, *twin;
} actions[] = {
#define X(id, name, label, help, weight, twin) {name, help, #weight, twin},
#include "ui/actions.def"
#undef X
};
static const struct {
    const char *map, *key;
    enum action action;
} keys[] = {
#define X(map, key, action) {#map, key, ACTION_##action},
#include "ui/keys.def"
#undef X
};
static const struct {
    const char *section, *key, *standard, *help;
} options[] = {
#define X(id, section, key, kind, standard, help) {section, key, standard, help},
#include "ui/options.def"
#undef X
};
static const struct {
    const char *name, *about;
} styles[] = {
#define X(id, name, about) {name, about},
#include "ui/styles.def"
#undef X
};

/* Text as roff takes it literally. */
static void put(const char *text)
{
    fputs("\\&", stdout);
    for (; *text; text++) {
        const char *escape = *text == '\\'   ? "\\e"
                             : *text == '"'  ? "\\(dq"
                             : *text == '\'' ? "\\(aq"
                             : *text == '`'  ? "\\(ga"
                             : *text == '^'  ? "\\(ha"
                             : *text == '~'  ? "\\(ti"
                             : *text == '-'  ? "\\-"
                                             : NULL;
        if (escape)
            fputs(escape, stdout);
        else
            putchar(*text);
    }
}

/* A macro with one argument, and a mark behind it or "". */
static void macro(const char *name, const char *text, const char *mark)
{
    printf(".%s \"", name);
    put(text);
    printf("\"%s%s\n", *mark ? " " : "", mark);
}

static void line(const char *text)
{
    put(text);
    putchar('\n');
}

/* "EVERYWHERE" as screen.ini has it. */
static const char *lower(const char *map, char ret[32])
{
    size_t i = 0;
    for (; map[i] && i < 31; i++)
        ret[i] = (char)(map[i] >= 'A' && map[i] <= 'Z' ? map[i] + 'a' - 'A' : map[i]);
    ret[i] = '\0';
    return ret;
}

/* Whether keys[at] is the first of its map, or of its act in it. */
static bool first(size_t at, bool of_act)
{
    for (size_t i = 0; i < at; i++)
        if (!strcmp(keys[i].map, keys[at].map) && (!of_act || keys[i].action == keys[at].action))
            return false;
    return true;
}

/* Whether keys[at] is of the same act in the same map. */
static bool beside(size_t at, size_t other)
{
    return !strcmp(keys[at].map, keys[other].map) && keys[at].action == keys[other].action;
}

/* "j, Down", what it does and its name. */
static void put_key(size_t at)
{
    size_t last = at;
    for (size_t i = at; i < COUNT(keys); i++)
        last = beside(at, i) ? i : last;
    puts(".It Xo");
    for (size_t i = at; i <= last; i++)
        if (beside(at, i))
            macro("Ic", keys[i].key, i < last ? "," : "");
    puts(".Xc");
    line(actions[keys[at].action].help);
    macro("Pq Cm", actions[keys[at].action].name, "");
}

static void put_keys(void)
{
    char map[32];
    for (size_t at = 0; at < COUNT(keys); at++) {
        if (!first(at, false))
            continue;
        macro("Ss", lower(keys[at].map, map), "");
        puts(".Bl -tag -width Ds");
        for (size_t i = at; i < COUNT(keys); i++)
            if (!strcmp(keys[i].map, keys[at].map) && first(i, true))
                put_key(i);
        puts(".El");
    }
}

static void put_maps(void)
{
    char map[32];
    size_t last = 0;
    for (size_t at = 0; at < COUNT(keys); at++)
        last = first(at, false) ? at : last;
    for (size_t at = 0; at <= last; at++)
        if (first(at, false))
            macro("Li", lower(keys[at].map, map), at < last ? "," : ".");
}

static void put_actions(void)
{
    static const struct {
        const char *weight, *words;
    } asks[] = {{"MODERATE", "Asks before: y does it, every other key does not."},
                {"SEVERE", "Asks for the name of what it is done to."}};
    for (size_t i = 0; i < COUNT(actions); i++) {
        macro("It Cm", actions[i].name, "");
        line(actions[i].help);
        for (size_t j = 0; j < COUNT(asks); j++)
            if (!strcmp(asks[j].weight, actions[i].weight))
                printf(".br\n%s\n", asks[j].words);
        if (*actions[i].twin)
            macro("Dl", actions[i].twin, "");
    }
}

static void put_options(void)
{
    for (size_t i = 0; i < COUNT(options); i++) {
        printf(".It Li [%s] Cm %s No = Li \"", options[i].section, options[i].key);
        put(options[i].standard);
        puts("\"");
        line(options[i].help);
    }
}

static void put_styles(void)
{
    for (size_t i = 0; i < COUNT(styles); i++) {
        macro("It Cm", styles[i].name, "");
        line(styles[i].about);
    }
}

static const struct {
    const char *mark;
    void (*put)(void);
} tables[] = {{"@KEYS@\n", put_keys},
              {"@ACTIONS@\n", put_actions},
              {"@OPTIONS@\n", put_options},
              {"@MAPS@\n", put_maps},
              {"@STYLES@\n", put_styles}};

int main(int argc, char **argv)
{
    char text[512];
    size_t used = 0;
    FILE *head = argc == 2 ? fopen(argv[1], "re") : NULL;
    if (!head) {
        fprintf(stderr, "usage: screen_page HEAD\n");
        return 2;
    }
    while (fgets(text, sizeof(text), head)) {
        size_t i = 0;
        while (i < COUNT(tables) && strcmp(tables[i].mark, text) != 0)
            i++;
        if (i < COUNT(tables)) {
            tables[i].put();
            used++;
        } else {
            fputs(text, stdout);
        }
    }
    fclose(head);
    return used == COUNT(tables) && fflush(stdout) == 0 && !ferror(stdout) ? 0 : 1;
}
