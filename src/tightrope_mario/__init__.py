"""The paper's case study: agents for Super Mario Bros., their training and the reproduction of the figures."""
