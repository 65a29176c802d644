/* The words of a push: its facts and its rows. What would run here stands first. */
#include "ui/model/app_state.h"
#include "ui/model/field.h"

#include "base/alloc.h"
#include "base/text.h"
#include "base/words.h"

#include <string.h>

static void fact(struct review *review, enum style style, const char *label, char *text /* taken over */)
{
    review->facts = xrealloc(review->facts, review->fact_count + 1, sizeof(*review->facts));
    review->facts[review->fact_count++] = (struct review_fact){xstrdup(label), text, style};
}

/* The branch that it becomes. */
static void name_it(struct review *review)
{
    const char *said = json_string_value(json_object_get(review->summary, "name"));
    const char *name = review->raw_branch ? review->raw_branch : said ? said : review->raw_ref;
    review->name = (free(review->name), text_safe(name));
    review->as = (free(review->as), xasprintf("hutch/%s/%s", review->project_name, name));
}

static void add_state(struct review *review)
{
    const char *class = review->class == REQUEST_ROUTINE   ? ""
                        : review->class == REQUEST_UNUSUAL ? _("  UNUSUAL")
                                                           : _("  CRITICAL");
    unsigned long long id = (unsigned long long)review->request;
    if (!review->request || !review->state)
        return;
    const char *became = !strncmp(review->reason, "landed as ", 10) ? review->reason + 10 : NULL;
    if (review->newer)
        fact(review, STYLE_BAD, _("state"),
             xstrdup(_("PUSHED AGAIN: this is not what waits by now; f reads that")));
    else if (review_waits(review))
        fact(review, STYLE_WAITING, _("state"), xasprintf(_("WAITING #%llu%s"), id, class));
    else if (!strcmp(review->state, "allowed") && became)
        fact(review, STYLE_GOOD, _("state"), xasprintf(_("landed as %s"), became));
    else if (!strcmp(review->state, "allowed"))
        fact(review, STYLE_GOOD, _("state"), xasprintf(_("allowed by %s"), review->by));
    else if (!strcmp(review->state, "denied"))
        fact(review, STYLE_WARN, _("state"),
             *review->reason ? xasprintf(_("rejected: %s"), review->reason)
                             : xasprintf(_("rejected by %s"), review->by));
    else
        fact(review, STYLE_WARN, _("state"), xasprintf(_("#%llu is gone"), id));
}

static void add_facts(struct review *review)
{
    const json_t *summary = review->summary;
    autofree char *base = field_text(summary, "base");
    add_state(review);
    if (review->failure)
        fact(review, STYLE_BAD, _("failed"), xstrdup(review->failure));
    if (!summary) {
        if (!review->failure)
            fact(review, STYLE_DIM, "", xstrdup(_("reading it ...")));
        return;
    }
    long long commits = (long long)field_number(summary, "commits", 0),
              files = (long long)field_number(summary, "files", 0);
    autofree char *of_commits =
        xasprintf(ngettext("%lld commit", "%lld commits", (unsigned long)commits), commits);
    autofree char *of_files = xasprintf(ngettext("%lld file", "%lld files", (unsigned long)files), files);
    fact(review, STYLE_NORMAL, _("brings"),
         xasprintf("%s, %s, +%lld -%lld%s", of_commits, of_files,
                   (long long)field_number(summary, "insertions", 0),
                   (long long)field_number(summary, "deletions", 0),
                   json_is_false(json_object_get(summary, "counted")) ? _(" or more") : ""));
    fact(review, STYLE_NORMAL, _("commit"),
         *base ? xasprintf(_("%.12s on %.12s"), review->tip, base)
               : xasprintf(_("%.12s, a history of its own"), review->tip));
    fact(review, STYLE_NORMAL, _("becomes"), text_safe(review->as));
    if (json_is_true(json_object_get(summary, "forced")))
        fact(review, STYLE_BAD, _("FORCED"), xstrdup(_("it takes back commits that were pushed before")));
    if (json_is_true(json_object_get(summary, "cut")))
        fact(review, STYLE_BAD, _("warning"), xstrdup(_("it is too large: not every file was looked at")));
}

/* ---- rows ---- */

static void row(struct review *review, enum review_part part, size_t index, char *text /* taken over */)
{
    if ((review->row_count & (review->row_count - 1)) == 0)
        review->rows =
            xrealloc(review->rows, review->row_count ? review->row_count * 2 : 1, sizeof(*review->rows));
    review->rows[review->row_count++] = (struct review_row){part, index, text};
}

static void title(struct review *review, size_t index, char *text)
{
    row(review, REVIEW_BLANK, index, NULL);
    row(review, REVIEW_TITLE, index, text);
}

static void add_kept(struct review *review)
{
    long long more = (long long)field_number(review->summary, "persistence_more", 0);
    if (!review->kept_count)
        return;
    title(review, 0, xstrdup(_("RUNS HERE: tools on this computer would run or obey it, once it is merged")));
    for (size_t i = 0; i < review->kept_count; i++)
        row(review, REVIEW_KEPT, i, NULL);
    if (more > 0)
        row(review, REVIEW_NOTE, 0, xasprintf(_("and %lld more"), more));
}

static void add_commits(struct review *review)
{
    title(review, 1, xasprintf(_("COMMITS  %zu"), review->commit_count));
    for (size_t i = 0; i < review->commit_count; i++)
        row(review, REVIEW_COMMIT, i, NULL);
    if (!review->commits_known)
        row(review, REVIEW_NOTE, 1, xstrdup(_("asking for the commits ...")));
    else if (review->commits_more)
        row(review, REVIEW_NOTE, 1, xstrdup(_("there are more; hutch git log has them")));
    else if (!review->commit_count)
        row(review, REVIEW_NOTE, 1, xstrdup(_("none that your remote has not")));
}

static void add_files(struct review *review)
{
    const struct diff *all = &review->all;
    title(review, 2, xasprintf(_("FILES  %zu"), all->count));
    for (size_t i = 0; i < all->listed; i++)
        row(review, REVIEW_FILE, i, NULL);
    if (all->failure)
        row(review, REVIEW_NOTE, 2, xstrdup(all->failure));
    else if (!all->known)
        row(review, REVIEW_NOTE, 2, xstrdup(_("asking for the files ...")));
    else if (all->listed < all->count)
        row(review, REVIEW_NOTE, 2, xasprintf(_("%zu more are coming ..."), all->count - all->listed));
    else if (all->cut)
        row(review, REVIEW_NOTE, 2, xstrdup(_("there are more files than are shown")));
    else if (!all->count)
        row(review, REVIEW_NOTE, 2, xstrdup(_("nothing differs")));
}

void review_build(struct app *app)
{
    struct review *review = &app->review;
    if (!review->raw_ref)
        return;
    name_it(review);
    add_facts(review);
    for (size_t i = 0; i < review->fact_count; i++)
        row(review, REVIEW_FACT, i, NULL);
    if (!review->tip)
        return;
    add_kept(review);
    add_commits(review);
    add_files(review);
}
