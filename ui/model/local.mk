# The sources of ui/model.
