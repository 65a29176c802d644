# The sources of ui/term.
