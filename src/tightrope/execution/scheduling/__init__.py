"""Who does what, and what need not be done."""
