/* The words of a prompt, always in the same order: verb and object; by whom; what it is; why it is asked; the
 * machine's state; the way back; the words of the guest; what each answer does. What hutchd observed comes
 * first, what the machine says is marked, nothing of the guest stands above the first label or among the
 * answers. */
#include "ui/model/app_state.h"
#include "ui/model/field.h"

#include "base/alloc.h"
#include "base/text.h"
#include "base/units.h"
#include "base/words.h"

#include <string.h>

static struct prompt_line *add(struct prompt *prompt, enum prompt_kind kind, enum style style,
                               const char *label, char *text /* taken over */)
{
    prompt->lines = xrealloc(prompt->lines, prompt->count + 1, sizeof(*prompt->lines));
    struct prompt_line *line = &prompt->lines[prompt->count++];
    *line = (struct prompt_line){.kind = kind, .style = style, .label = xstrdup(label), .text = text};
    return line;
}

static void text(struct prompt *prompt, enum style style, const char *label, char *words)
{
    add(prompt, PROMPT_TEXT, style, label, words);
}

static void blank(struct prompt *prompt)
{
    add(prompt, PROMPT_TEXT, STYLE_NORMAL, "", xstrdup(""));
}

char *prompt_ascii(const char *safe)
{
    struct buf out;
    size_t len = strlen(safe);
    buf_init(&out, 0);
    for (size_t i = 0; i < len;) {
        int32_t code;
        i += text_decode(safe + i, len - i, &code);
        buf_printf(&out, NULL, code >= 0x20 && code < 0x7f ? "%c" : "\\u{%X}", (unsigned)code);
    }
    return buf_take_string(&out);
}

bool prompt_is_push(const struct prompt *prompt)
{
    const char *kind = json_string_value(json_object_get(prompt->json, "kind"));
    return kind && !strcmp(kind, "PUSH");
}

/* A member as ASCII: names of hosts. */
static char *ascii_field(const json_t *json, const char *key)
{
    autofree char *safe = field_text(json, key);
    return prompt_ascii(safe);
}

/* ---- the object ---- */

static const char *proto_word(const json_t *fields, int64_t port)
{
    const char *proto = json_string_value(json_object_get(fields, "proto"));
    if (!proto)
        return _("unknown protocol");
    if (!strcmp(proto, "tls"))
        return port == 443 ? "https" : "TLS";
    if (!strcmp(proto, "http"))
        return "http";
    return !strcmp(proto, "tcp") ? _("raw TCP") : _("any protocol");
}

static bool is_proto(const json_t *fields, const char *word)
{
    const char *proto = json_string_value(json_object_get(fields, "proto"));
    return proto && !strcmp(proto, word);
}

static bool takes_uploads(const json_t *fields)
{
    return json_is_true(json_object_get(json_object_get(fields, "site"), "uploads"));
}

static const char *consequence(const char *kind, const json_t *fields)
{
    if (!strcmp(kind, "PRIVATE"))
        return is_proto(fields, "tcp") ? _("raw TCP, no TLS seen, both ways, any content")
                                       : _("a computer of your own network, both ways");
    if (!strcmp(kind, "REQUEST"))
        return _("one HTTP request, as it stands here");
    if (!strcmp(kind, "UPLOAD"))
        return takes_uploads(fields) ? _("a site where anybody can pick up what was sent")
                                     : _("more is to be sent than its limit lets by itself");
    if (!strcmp(kind, "PUSH"))
        return _(
            "what was committed in the machine, as a branch of your own repository; your work tree stays");
    if (strcmp(kind, "CONNECT") != 0)
        return _("unknown: this screen does not know what it would do");
    if (takes_uploads(fields))
        return _("a site where anybody can pick up what was sent");
    if (is_proto(fields, "tls"))
        return _("encrypted: hutch will see the name and the byte counts, no content");
    return is_proto(fields, "http") ? _("not encrypted: hutch checks each request, others can read it too")
                                    : _("raw TCP, no TLS seen, both ways, any content");
}

static void build_head(struct prompt *prompt, const json_t *fields)
{
    static const char *const known[] = {"CONNECT", "UPLOAD", "PRIVATE", "REQUEST", "PUSH"};
    autofree char *kind = field_text(prompt->json, "kind"), *subject = field_text(prompt->json, "subject");
    autofree char *host = ascii_field(fields, "host");
    int64_t port = field_number(fields, "port", -1);
    const char *verb = _("UNKNOWN");
    for (size_t i = 0; i < countof(known); i++)
        if (!strcmp(known[i], kind))
            verb = known[i];
    prompt->host = (free(prompt->host), xstrdup(*host ? host : ""));
    autofree char *missing = ascii_field(fields, "rule_missing");
    const char *leads = strcmp(kind, "PRIVATE") == 0 ? strstr(missing, "private=") : NULL;
    autofree char *to =
        leads ? xasprintf("  ->  %.*s", (int)strcspn(leads + 8, " "), leads + 8) : xstrdup("");
    char *object =
        *host ? xasprintf(_("%s%s  port %lld  %s"), host, to, (long long)port, proto_word(fields, port))
              : prompt_ascii(subject);
    bool private = !strcmp(kind, "PRIVATE");
    struct prompt_line *head =
        add(prompt, PROMPT_HEAD, STYLE_TITLE, private ? _("OPEN YOUR PRIVATE NETWORK") : verb, object);
    int64_t sent = field_number(fields, "sent", -1);
    char size[UNITS_SIZE_MAX];
    if (sent == 0 && strcmp(kind, "UPLOAD") == 0)
        head->note = xstrdup(_("nothing sent yet"));
    else if (sent > 0)
        head->note = xasprintf(_("%s sent so far"), units_format_size((uint64_t)sent, size));
    if (!strcmp(kind, "REQUEST")) {
        autofree char *method = field_text(fields, "method"), *path = field_text(fields, "path");
        add(prompt, PROMPT_HEAD, STYLE_NORMAL, "", xasprintf("%s %s", method, path));
    }
    add(prompt, PROMPT_HEAD, STYLE_NORMAL, "", xstrdup(consequence(kind, fields)));
}

/* The lines of its question, each with an answer of its own; this one is marked. */
static void build_lines(const struct app *app, struct prompt *prompt)
{
    static const char *const classes[] = {"", N_("!UNUSUAL!"), N_("***CRITICAL***")};
    const struct request_row *own = inbox_find(&app->inbox, prompt->id);
    bool first = true;
    if (!own || !inbox_next_line(&app->inbox, prompt->id))
        return;
    for (size_t i = 0; i < app->inbox.count; i++) {
        const struct request_row *row = &app->inbox.list[i];
        if (row->batch != own->batch)
            continue;
        autofree char *subject = prompt_ascii(row->subject);
        const char *class = row->class ? _(classes[row->class]) : "";
        text(prompt, row == own ? STYLE_TITLE : STYLE_NORMAL, first ? _("together") : "",
             xasprintf("%c #%llu  %s%s%s", row == own ? '>' : ' ', (unsigned long long)row->id, subject,
                       *class ? "   " : "", class));
        first = false;
    }
    blank(prompt);
}

/* ---- by whom ---- */

/* The command as a line: what has blanks or nothing in it stands between marks. *ret_bytes: its length. */
static char *command_of(const json_t *argv, size_t *ret_bytes)
{
    struct buf out;
    size_t i;
    const json_t *one;
    buf_init(&out, 0);
    *ret_bytes = 0;
    json_array_foreach(argv, i, one)
    {
        autofree char *word = field_value(one);
        bool plain = *word && !strpbrk(word, " \"'\\");
        *ret_bytes += strlen(word) + 1;
        buf_printf(&out, NULL, plain ? "%s%s" : "%s\"%s\"", i ? " " : "", word);
    }
    return buf_take_string(&out);
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

/* Where it runs: the folder, and of the session what it was started for, which says more than its number. */
static char *place_of(const struct app *app, const struct prompt *prompt, const json_t *claim)
{
    autofree char *cwd = field_text(claim, "cwd"), *session = field_text(claim, "session");
    uint32_t project = events_project(&app->events, prompt->raw_project);
    const struct event *runs =
        *session ? events_command(&app->events, project, session, field_number(prompt->json, "asked_ns", 0))
                 : NULL;
    return xasprintf("%s%s%s%s", *cwd ? _("in ") : "", cwd, *session ? _("   session ") : "",
                     runs ? event_text(runs) : session);
}

static void build_claim(const struct app *app, struct prompt *prompt, const json_t *fields)
{
    const json_t *claim = json_object_get(fields, "claim"), *argv = json_object_get(claim, "argv");
    autofree char *exe = field_text(claim, "exe");
    autofree char *place = place_of(app, prompt, claim);
    size_t bytes, words = json_array_size(argv);
    bool cut = json_is_true(json_object_get(claim, "cut"));
    if (!json_is_true(json_object_get(claim, "known"))) {
        text(prompt, STYLE_WARN, _("by"), xstrdup(_("unknown: the VM did not say which program asks")));
        return;
    }
    char *command = command_of(argv, &bytes);
    prompt->too_long =
        cut || words > REQUEST_ARGV || bytes > REQUEST_ARGS || field_number(claim, "argc", 0) > REQUEST_ARGV;
    struct prompt_line *by =
        add(prompt, PROMPT_TEXT, STYLE_NORMAL, _("by"),
            *command ? command : (free(command), xstrdup(_("unknown: the VM did not say which command"))));
    by->note = xstrdup(_("(the VM says so)"));
    if (cut)
        text(prompt, STYLE_WARN, "",
             xasprintf(_("... it goes on: it has %lld words, the VM sent no more of them"),
                       (long long)field_number(claim, "argc", 0)));
    if (*place)
        text(prompt, STYLE_NORMAL, "", xstrdup(place));
    autofree char *first = field_value(json_array_get(argv, 0));
    if (*exe && strcmp(base_name(exe), base_name(first)) != 0)
        text(prompt, STYLE_WARN, "", xasprintf(_("the program is %s"), exe));
    if (json_is_true(json_object_get(claim, "suspicious")))
        text(prompt, STYLE_BAD, _("warning"),
             xstrdup(_("the command has invisible or misleading characters; they are shown as codes")));
}

/* ---- what it is ---- */

/* What hutchd left out, or said in a way that has no meaning here, is unknown: never the harmless answer. */
static const char *uploads_words(const json_t *uploads)
{
    if (!json_is_boolean(uploads))
        return _("unknown whether it takes uploads");
    return json_is_true(uploads) ? _("KNOWN FOR TAKING UPLOADS") : _("not known for taking uploads");
}

/* From this project, else from another one. */
static char *reached_words(const char *host, const json_t *site, const char *project)
{
    int64_t last = field_number(site, "last_ns", -1), elsewhere = field_number(site, "elsewhere_ns", -1);
    bool never = json_is_null(json_object_get(site, "last_ns"));
    char date[24];
    if (last > 0) {
        field_date(last, date);
        return xasprintf(_("%s   reached before, last on %s"), host, date);
    }
    if (!never)
        return xasprintf(_("%s   unknown whether it was ever reached"), host);
    if (elsewhere > 0) {
        field_date(elsewhere, date);
        return xasprintf(_("%s   never reached from %s; from another project, last on %s"), host, project,
                         date);
    }
    return json_is_null(json_object_get(site, "elsewhere_ns"))
               ? xasprintf(_("%s   never reached from any project"), host)
               : xasprintf(_("%s   never reached from %s; from others: unknown"), host, project);
}

static char *limit_words(const json_t *fields)
{
    int64_t cap = field_number(fields, "cap_hour", -1);
    char size[UNITS_SIZE_MAX];
    if (json_is_null(json_object_get(fields, "cap_hour")))
        return xstrdup(_("if allowed: no limit of what is sent"));
    if (cap < 0)
        return xstrdup(_("if allowed: limit unknown"));
    return xasprintf(_("if allowed: %s up an hour at most"), units_format_size((uint64_t)cap, size));
}

static void build_site(struct prompt *prompt, const json_t *fields)
{
    const json_t *site = json_object_get(fields, "site"), *uploads = json_object_get(site, "uploads");
    autofree char *warning = field_text(site, "warning"), *class = field_text(fields, "class");
    autofree char *limit = limit_words(fields);
    if (*class)
        text(prompt, STYLE_BAD, _("reaches"), xasprintf(_("a %s address, this host and port only"), class));
    text(prompt, STYLE_NORMAL, _("site"), reached_words(prompt->host, site, prompt->project));
    text(prompt, json_is_false(uploads) ? STYLE_NORMAL : STYLE_WARN, "",
         xasprintf("%s   %s", uploads_words(uploads), limit));
    if (*warning)
        text(prompt, STYLE_BAD, _("warning"), xstrdup(_(warning)));
}

static void build_why(struct prompt *prompt, const json_t *fields)
{
    autofree char *asks = field_text(fields, "asks"), *rule = field_text(fields, "rule");
    autofree char *missing = field_text(fields, "rule_missing");
    text(prompt, STYLE_NORMAL, _("asks"),
         *asks ? xasprintf("%s%s%s", _(asks), *rule ? ": " : "", rule) : xstrdup(_("unknown")));
    if (*missing && !(prompt->scopes & REQUEST_PROJECT))
        text(prompt, STYLE_DIM, "", xasprintf(_("this rule would allow it: %s"), missing));
}

static void build_machine(const struct app *app, struct prompt *prompt)
{
    int64_t changed = field_number(prompt->json, "changed_ns", 0);
    char since[24] = "";
    if (changed > 0)
        field_clock(changed, since);
    if (!strcmp(prompt->state, "frozen"))
        text(prompt, STYLE_WARN, _("machine"),
             *since ? xasprintf(_("FROZEN since %s, so nothing in it times out while you read"), since)
                    : xstrdup(_("FROZEN, so nothing in it times out while you read")));
    else if (!strcmp(prompt->state, "held"))
        text(prompt, STYLE_NORMAL, _("machine"), xstrdup(_("runs; the program is held until it times out")));
    else
        text(prompt, STYLE_NORMAL, _("machine"),
             xstrdup(_("runs; it was refused for now, an answer counts for its next try")));
    text(prompt, STYLE_NORMAL, _("way back"), xstrdup(_("none: what was sent cannot be taken back")));
}

/* ---- what a push brings ---- */

static const char *change_word(const char *change)
{
    return !strcmp(change, "new")       ? _("new")
           : !strcmp(change, "changed") ? _("changed")
           : !strcmp(change, "deleted") ? _("deleted")
           : !strcmp(change, "mode")    ? _("mode")
                                        : "";
}

/* What tools on this computer would run or obey if it lands. */
static void build_persistence(struct prompt *prompt, const json_t *fields)
{
    int64_t more = field_number(fields, "persistence_more", 0);
    const json_t *one;
    size_t i;
    json_array_foreach(json_object_get(fields, "persistence"), i, one)
    {
        autofree char *path = field_text(one, "path"), *class = field_text(one, "class");
        autofree char *change = field_text(one, "change"), *target = field_text(one, "target");
        text(prompt, STYLE_BAD, i ? "" : _("runs here"),
             xasprintf("%s%s%s  (%s%s%s)", *path ? path : _("not all of it could be looked at"),
                       *target ? " -> " : "", target, class, *change ? ", " : "", change_word(change)));
    }
    if (more > 0)
        text(prompt, STYLE_BAD, "", xasprintf(_("and %lld more"), (long long)more));
}

static void build_push(struct prompt *prompt, const json_t *fields)
{
    autofree char *unread = field_text(fields, "unread");
    long long commits = (long long)field_number(fields, "commits", 0);
    build_persistence(prompt, fields);
    if (*unread)
        text(prompt, STYLE_BAD, _("warning"), xasprintf(_("it cannot be read: %s"), unread));
    if (json_is_true(json_object_get(fields, "forced")))
        text(prompt, STYLE_WARN, _("forced"), xstrdup(_("it takes back commits that were pushed before")));
    text(prompt, STYLE_NORMAL, _("brings"),
         xasprintf(_("%lld commits, %lld files, +%lld -%lld lines"), commits,
                   (long long)field_number(fields, "files", 0),
                   (long long)field_number(fields, "insertions", 0),
                   (long long)field_number(fields, "deletions", 0)));
    text(prompt, STYLE_NORMAL, _("asks"),
         xstrdup(_("nothing lands in your repository before a person has read it")));
    text(prompt, STYLE_NORMAL, _("machine"),
         xstrdup(_("goes on; for it the push is done, and it hears your answer")));
    text(prompt, STYLE_NORMAL, _("way back"), xstrdup(_("delete the branch that it lands as")));
}

/* ---- the words of the guest ---- */

static void build_says(struct prompt *prompt, const json_t *fields)
{
    autofree char *says = field_text(fields, "says");
    if (!*says)
        return;
    blank(prompt);
    text(prompt, STYLE_DIM, _("VM says"), xasprintf("\"%s\"", says));
}

/* ---- the answers ---- */

static void answer(const struct app *app, struct prompt *prompt, enum action action, const char *label,
                   char *does /* taken over */)
{
    char key[24] = "-";
    if (action)
        bindings_key(&app->settings.bindings, KEYMAP_REQUEST, action, key);
    struct prompt_line *line = add(prompt, PROMPT_ANSWER, STYLE_NORMAL, action ? key : " ", does);
    line->note = xstrdup(label);
}

char *prompt_rule(const json_t *json)
{
    size_t i;
    const json_t *one, *list = json_object_get(json, "answers");
    json_array_foreach(list, i, one)
    {
        const char *scope = json_string_value(json_object_get(one, "scope"));
        if (scope && !strcmp(scope, "project"))
            return field_text(one, "rule");
    }
    return xstrdup("");
}

static char *key_of(const struct app *app, enum action action)
{
    char key[24] = "-";
    bindings_key(&app->settings.bindings, KEYMAP_REQUEST, action, key);
    return xstrdup(key);
}

static void build_allow(const struct app *app, struct prompt *prompt)
{
    autofree char *edit = key_of(app, ACTION_REQUEST_RULE), *rule = prompt_rule(prompt->json);
    bool unusual = prompt->class == REQUEST_UNUSUAL;
    const char *then = unusual ? _("then y Enter: ") : "";
    bool waits = !strcmp(prompt->state, "waiting");
    if (prompt->too_long) {
        answer(app, prompt, ACTION_NONE, _("allow"),
               xasprintf(_("not offered: its command is too long to be judged; write the rule yourself (%s)"),
                         edit));
        return;
    }
    if (prompt_is_push(prompt)) {
        autofree char *branch = field_text(json_object_get(prompt->json, "fields"), "branch");
        answer(app, prompt, ACTION_REQUEST_FIELDS, _("read it"),
               xstrdup(_("commits, files and lines; Enter does too")));
        answer(app, prompt, ACTION_REQUEST_ONCE, _("land"),
               *branch ? xasprintf(_("%sas hutch/%s/%s in your repository"), then, prompt->project, branch)
                       : xasprintf(_("%sas a branch of your repository"), then));
        return;
    }
    if (prompt->class == REQUEST_CRITICAL) {
        answer(app, prompt, ACTION_REQUEST_ONCE, _("once"),
               xasprintf(_("then the name  %s  and Enter; for 15 minutes"), prompt->host));
        answer(app, prompt, ACTION_NONE, _("session"), xstrdup(_("not offered; project: not offered")));
        return;
    }
    answer(app, prompt, ACTION_REQUEST_ONCE, _("once"),
           xasprintf("%s%s", then,
                     waits ? _("its next attempt, within 24 hours") : _("this command, 15 minutes at most")));
    if (prompt->scopes & REQUEST_SESSION)
        answer(app, prompt, ACTION_REQUEST_SESSION, _("session"),
               xasprintf("%s%s", then, _("until this session ends")));
    else
        answer(app, prompt, ACTION_NONE, _("session"), xstrdup(_("not offered")));
    if (prompt->scopes & REQUEST_PROJECT)
        answer(app, prompt, ACTION_REQUEST_PROJECT, _("project"),
               xasprintf(_("adds  %s  to %s, 90 days  (%s edits)"), rule, prompt->project, edit));
    else
        answer(app, prompt, ACTION_NONE, _("project"),
               xasprintf(_("not offered: write the rule yourself   (%s)"), edit));
}

static void build_answers(const struct app *app, struct prompt *prompt)
{
    prompt->answers = prompt->count;
    add(prompt, PROMPT_RULE, STYLE_RULE, "", xstrdup(""));
    if (prompt->like) {
        for (size_t i = 0; i < prompt->like_count; i++)
            text(prompt, STYLE_WARN, i ? "" : _("with it"),
                 xasprintf("#%llu  %s", (unsigned long long)prompt->likes[i].id, prompt->likes[i].subject));
        if (!prompt->like_count)
            text(prompt, STYLE_DIM, _("with it"), xstrdup(_("no other like it waits")));
    }
    answer(app, prompt, ACTION_REQUEST_DENY, _("deny"),
           xstrdup(prompt_is_push(prompt) ? _("it lands nowhere; its commits stay where they are")
                                          : _("the program gets an error now")));
    answer(app, prompt, ACTION_REQUEST_REASON, _("deny, say why"),
           xstrdup(prompt->class == REQUEST_ROUTINE ? _("your words are shown to the agent")
                                                    : _("your words are shown to the agent (recommended)")));
    build_allow(app, prompt);
}

void prompt_build(const struct app *app, struct prompt *prompt)
{
    const json_t *fields = json_object_get(prompt->json, "fields");
    for (size_t i = 0; i < prompt->count; i++) {
        free(prompt->lines[i].label);
        free(prompt->lines[i].text);
        free(prompt->lines[i].note);
    }
    prompt->count = 0;
    prompt->too_long = false;
    add(prompt, PROMPT_RULE, STYLE_RULE, "", xstrdup(""));
    build_head(prompt, fields);
    if (prompt->class == REQUEST_CRITICAL)
        add(prompt, PROMPT_RULE, STYLE_RULE, "", xstrdup(""));
    else
        blank(prompt);
    build_lines(app, prompt);
    if (prompt_is_push(prompt)) {
        build_push(prompt, fields);
    } else {
        build_claim(app, prompt, fields);
        build_site(prompt, fields);
        build_why(prompt, fields);
        build_machine(app, prompt);
    }
    build_says(prompt, fields);
    build_answers(app, prompt);
}

char *prompt_class(const struct prompt *prompt)
{
    /* Three looks that are told apart without colours. */
    return xstrdup(prompt->class == REQUEST_ROUTINE   ? _("ROUTINE")
                   : prompt->class == REQUEST_UNUSUAL ? _("!UNUSUAL!")
                                                      : _("***CRITICAL***"));
}

char *prompt_heading(const struct app *app)
{
    const struct prompt *prompt = &app->inbox.prompt;
    return prompt->id ? xasprintf(_("#%llu of %zu waiting"), (unsigned long long)prompt->id, app->inbox.count)
                      : NULL;
}

/* ---- every field ---- */

#define FIELDS_DEEP 6

static void flat(const json_t *json, const char *path, int depth, struct doc *out)
{
    const char *key;
    json_t *value;
    size_t i;
    if (json_is_object(json) && depth < FIELDS_DEEP) {
        json_object_foreach((json_t *)json, key, value)
        {
            autofree char *safe = text_safe(key);
            autofree char *below = xasprintf("%s%s%s", path, *path ? "." : "", safe);
            flat(value, below, depth + 1, out);
        }
    } else if (json_is_array(json) && depth < FIELDS_DEEP) {
        json_array_foreach((json_t *)json, i, value)
        {
            autofree char *below = xasprintf("%s.%zu", path, i);
            flat(value, below, depth + 1, out);
        }
    } else {
        autofree char *safe = field_value(json);
        size_t len = strlen(path);
        char date[24];
        if (json_is_integer(json) && json_integer_value(json) > 0 && len > 3 &&
            !strcmp(path + len - 3, "_ns")) {
            field_date(json_integer_value(json), date); /* a time */
            doc_addf(out, STYLE_NORMAL, "", "%s = %s", path, date);
            return;
        }
        autofree char *ascii = strstr(path, "decoded") ? prompt_ascii(safe) : NULL;
        doc_addf(out, STYLE_NORMAL, "", "%s = %s", path, ascii ? ascii : safe);
    }
}

void prompt_fields(const json_t *json, struct doc *out)
{
    flat(json, "", 0, out);
}
