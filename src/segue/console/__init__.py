"""What all commands share, `segue` and the dialects: entry point, options, output, tables, times and exit codes."""
