# The sources of ui/pane.
