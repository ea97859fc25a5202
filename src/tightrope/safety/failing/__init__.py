"""What failures have in common: groups, reasons, the simplest case, the first checkpoint."""
