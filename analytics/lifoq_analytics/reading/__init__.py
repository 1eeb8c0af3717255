"""Read table exports: find their files, stream their lines, and make observations of tasks."""
