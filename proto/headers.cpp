// Carries the precompiled headers that the folders share.
