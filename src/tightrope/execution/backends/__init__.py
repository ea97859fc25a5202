"""Where work is done: in this process, in processes of this machine, on a Ray cluster."""
