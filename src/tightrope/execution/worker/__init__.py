"""One worker: the lanes in which its rollouts run."""
