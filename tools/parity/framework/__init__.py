"""What runs inside the framework's own Python environment: the hub, its forked ranks and the judge."""
