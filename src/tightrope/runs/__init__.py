"""A run: one folder, the steps that fill it, and what is asked of it afterwards."""
