"""What the launch scripts share: topology of ranks, Open MPI rank files, errors with exit codes."""
