# The sources of ui/grid.
