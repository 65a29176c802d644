# The sources of ui/view.
