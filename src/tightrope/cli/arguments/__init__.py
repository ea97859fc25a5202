"""What a command line says: options made from settings, arguments that several verbs share, and what they name."""
