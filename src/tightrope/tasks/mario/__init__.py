"""Super Mario Bros. on stable-retro's FCEUmm core."""
