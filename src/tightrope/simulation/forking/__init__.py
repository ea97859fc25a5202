"""Where replaying is dear: environments in processes that are forked. A copy need not be played to where it stands."""
