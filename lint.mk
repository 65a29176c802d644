# make lint: what can be checked without a build; make lint-analyze: gcc -fanalyzer over all sources, some minutes.
lint:
	@$(srcdir)/tests/lint.sh
lint-analyze:
	@$(srcdir)/tests/lint.sh analyze
lint-tidy:
	@$(srcdir)/tests/lint.sh tidy
.PHONY: lint lint-analyze lint-tidy
