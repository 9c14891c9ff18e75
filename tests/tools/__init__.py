"""Tools of the tests: registries, corpora, browser, fuzzing, mutants."""
