"""What scripts/soak.py is made of: hosts, a disk, jobs, faults, the chain of jobs, and an end that leaves nothing."""
