# tests: one fragment per folder
