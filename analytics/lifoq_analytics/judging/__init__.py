"""Judge each task: its latest image wins, and what became of it follows from that."""
