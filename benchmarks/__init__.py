"""Evidence: what was measured, how, and what it does not show. Each benchmark is a folder."""
