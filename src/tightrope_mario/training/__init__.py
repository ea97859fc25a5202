"""Training agents for Super Mario Bros."""
