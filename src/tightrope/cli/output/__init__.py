"""What a command prints: tables, verdicts, reasons, the closing sentence; for machines one JSON object."""
